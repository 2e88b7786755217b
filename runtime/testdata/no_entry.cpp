// A shared object that is not a kernel.
extern "C" int not_a_kernel() { return 0; }
