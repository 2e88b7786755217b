// Reads one .npy file and writes it to another: the runtime's half of npy_numpy_test.py.
#include "runtime/tensor/Npy.h"

#include <cstdio>
#include <exception>

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FROM.npy TO.npy\n", argv[0]);
    return 2;
  }
  try {
    evt::runtime::writeNpy(argv[2], evt::runtime::readNpy(argv[1]));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
