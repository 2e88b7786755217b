"""Prints a program with a chain of additions: index_chain.py graph|device LENGTH."""

import sys

PLACES = {
    "graph": ("evt.graph @g(%x: memref<4xf32>, %i: index) {", "  evt.call @d(%x) grid(%LAST) : (memref<4xf32>)"),
    "device": ("evt.device @e(%x: memref<4xf32>) grid(%i) {", "  %t = evt.load %x[%LAST] : memref<4xf32> -> tensor<1xf32>"),
}
head, use = PLACES[sys.argv[1]]
length = int(sys.argv[2])
print("evt.device @d(%x: memref<4xf32>) grid(%i) {\n}")
print(head)
print("  %one = arith.constant 1 : index")
for step in range(1, length + 1):
    print(f"  %a{step} = arith.addi {f'%a{step - 1}' if step > 1 else '%i'}, %one : index")
print(use.replace("LAST", f"a{length}"))
print("}")
