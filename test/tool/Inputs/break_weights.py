"""break_weights.py MODEL TENSOR [ROW]: makes a tensor of a checkpoint, or a row of it, NaN."""

import json
import pathlib
import struct
import sys

path = pathlib.Path(sys.argv[1]) / "model.safetensors"
content = bytearray(path.read_bytes())
length = struct.unpack_from("<Q", content)[0]
tensor = json.loads(content[8:8 + length])[sys.argv[2]]
begin, end = (8 + length + offset for offset in tensor["data_offsets"])
if len(sys.argv) > 3:
    row = (end - begin) // tensor["shape"][0]
    begin += int(sys.argv[3]) * row
    end = begin + row
content[begin:end] = b"\xff" * (end - begin)  # NaN in every type
path.write_bytes(content)
