#!/usr/bin/python3
"""Writes the operators of a decode chain as programs of their own, with the device functions that the chain has.

    operators.py --model qwen3-8b --out DIR      DIR/start.mlir, qkv, out, gate_up, down (with the sum of its pieces) and head

Weights are those of one layer, and activations are arguments. run.py --operators launches a step as a kernel for each, in a CUDA
graph: what the chain gains by being one kernel is the difference.
"""

import argparse
import pathlib
import re

import program

DEVICE = re.compile(r"^evt\.device @(\w+)\((.*?)\) grid\(.*?^}\n", re.MULTILINE | re.DOTALL)
DIMENSION = re.compile(r"(\d+|\?)x")

# What each passes to its device function, parameter by parameter; a parameter that is not named goes by its own name.
OPERATORS = {"start": {}, "qkv": {"x": "rb", "w": "w_qkv"}, "out": {"x": "q", "w": "w_out"},
             "gate_up": {"x": "rb", "wg": "w_gate", "wu": "w_up"}, "down": {"x": "h", "w": "w_down"},
             "head": {"x": "rb", "w": "w_head"}}


class Device:
    def __init__(self, text, parameters, names):
        self.text = text
        self.passed = [(names.get(name, name), kind) for name, kind in re.findall(r"%(\w+): ([^,]+)", parameters)]


def call(device, name, grid, protocol=""):
    passed = ", ".join(f"%{name}" for name, _ in device.passed)
    return f"""
  evt.call @{name}({passed}) grid({grid}) {protocol}
    : ({', '.join(kind for _, kind in device.passed)})"""


def operator(name, chain, hidden):
    """The program of one operator; `chain` is the text of the whole."""
    found = {n: Device(text, parameters, OPERATORS.get(n, {})) for text, n, parameters in
             ((m.group(0), m.group(1), m.group(2)) for m in DEVICE.finditer(chain))}
    device = found[name]
    # A split K: the sums of pieces, and who adds them.
    part = next(((n, kind) for n, kind in device.passed if "part" in n), None)
    adder = next((n for n, d in found.items() if part in d.passed and n != name), None)
    used = [device] + ([found[adder]] if part else [])
    tensors = {n: kind for d in used for n, kind in d.passed if kind != "index" and (n, kind) != part}
    weights = {n: kind for n, kind in tensors.items() if n.startswith("w_")}
    tokens = {n: kind for n, kind in tensors.items() if n not in weights}
    of_layer = {n: kind for n, kind in weights.items() if n != "w_head"}
    rows = [DIMENSION.findall(kind)[-2] for kind in weights.values()]
    columns = int(rows[0]) // 8 if rows else hidden // (64 if hidden % 64 == 0 else 8)
    arguments = [f"%{n}: {kind}" for n, kind in tokens.items()] + [f"%{n}: {kind} {{evt.immutable}}" for n, kind in weights.items()]
    text = f"""// @{name} of a decode chain as a program of its own. Written by bench/chain/operators.py.
{''.join(d.text for d in used)}
evt.graph @{name}_alone({', '.join(arguments)}) {{
  %tokens = evt.symbol "tokens" ({', '.join(f'%{n}[0]' for n in tokens)}) range(1, 8) : {', '.join(tokens.values())}"""
    if of_layer:
        text += f"""
  %layers = evt.symbol "layers" ({', '.join(f'%{n}[0]' for n in of_layer)}) range(1, 1) : {', '.join(of_layer.values())}
  %l = arith.constant 0 : index"""
    text += f"""
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%tokens]
  %columns = arith.constant {columns} : index"""
    if part:
        pieces = DIMENSION.findall(part[1])[0]
        text += f"""
  %pieces = arith.constant {pieces} : index
  %{part[0]} = evt.alloc(%tokens) : {part[1]}
  %done = evt.event(%tiles, %columns) count({pieces}) : !evt.event<?x?>"""
        text += call(device, name, "%tiles, %pieces, %columns", "notify(%done[(t, s, j) -> (t, j)])")
        text += call(found[adder], adder, "%tiles, %columns", "wait(%done[(t, j) -> (t, j)])")
    else:
        text += call(device, name, "%tiles, %columns")
    return text + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=program.MODELS, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the programs")
    options = parser.parse_args()
    dims = program.MODELS[options.model]
    options.out.mkdir(parents=True, exist_ok=True)
    for name in OPERATORS:
        (options.out / f"{name}.mlir").write_text(operator(name, program.chain(*dims), dims[0]))


if __name__ == "__main__":
    main()
