"""Launches artifacts through the C interface (include/evt/evt.h) from Python, in this process.

    program = Library("libevt.so").load("row_sum.evt")
    program.launch({"x": x, "y": y}, schedule="ticket", workers=7)     # NumPy arrays, in place

Declarations here mirror the header; `Library` refuses a library of another EVT_API_VERSION.
"""

import ctypes
import pathlib

import numpy as np

API_VERSION = 1
OK = 0


class DataType(ctypes.Structure):
    """DLDataType."""

    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Device(ctypes.Structure):
    """DLDevice."""

    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("dtype", DataType),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class ArgumentInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("type", DataType), ("rank", ctypes.c_uint32),
                ("dims", ctypes.POINTER(ctypes.c_char_p)), ("access", ctypes.c_int), ("immutable", ctypes.c_uint32),
                ("align", ctypes.c_uint64), ("symbol", ctypes.c_char_p), ("packed_rows", ctypes.c_uint32),
                ("packed_columns", ctypes.c_uint32)]


class LaunchOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("workers", ctypes.c_uint32), ("schedule", ctypes.c_char_p),
                ("watchdog_seconds", ctypes.c_double), ("perturb", ctypes.c_uint64), ("inject_call", ctypes.c_int64),
                ("inject_task", ctypes.c_int64), ("hooks", ctypes.c_void_p), ("stream", ctypes.c_void_p),
                ("first_call", ctypes.c_int64), ("last_call", ctypes.c_int64), ("iteration", ctypes.c_int64)]


class Value(ctypes.Structure):
    _fields_ = [("tensor", ctypes.POINTER(Tensor)), ("index", ctypes.c_int64)]


ARGUMENT_TENSOR = 0
ACCESS_WRITE = 2  # a bit: EVT_ACCESS_READWRITE is 3
CPU = 1           # kDLCPU
CUDA = 2          # kDLCUDA

# (code, bits) of a DLDataType -> the NumPy type that holds it; bf16 travels as its bits.
NUMPY = {(2, 32): np.float32, (4, 16): np.uint16, (2, 16): np.float16, (0, 32): np.int32, (0, 64): np.int64,
         (6, 8): np.bool_}
BFLOAT16 = (4, 16)


class LaunchError(Exception):
    pass


class Library:
    def __init__(self, path):
        c = ctypes.CDLL(str(path))
        c.evt_last_error.restype = ctypes.c_char_p
        c.evt_program_load.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
        c.evt_program_free.argtypes = [ctypes.c_void_p]
        c.evt_program_argument_count.argtypes = [ctypes.c_void_p]
        c.evt_program_argument_count.restype = ctypes.c_uint32
        c.evt_program_argument.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
        c.evt_program_argument.restype = ctypes.POINTER(ArgumentInfo)
        c.evt_program_launch.argtypes = [ctypes.c_void_p, ctypes.POINTER(Value), ctypes.c_uint32,
                                         ctypes.POINTER(LaunchOptions)]
        c.evt_api_version.restype = ctypes.c_uint32
        if c.evt_api_version() != API_VERSION:
            raise LaunchError(f"{path} has interface version {c.evt_api_version()}, required is {API_VERSION}")
        self.c = c

    def check(self, code):
        if code != OK:
            raise LaunchError(self.c.evt_last_error().decode(errors="replace"))

    def load(self, directory):
        return Program(self, directory)


class Argument:
    def __init__(self, info):
        self.name = info.name.decode()
        self.is_tensor = info.kind == ARGUMENT_TENSOR
        self.is_written = self.is_tensor and bool(info.access & ACCESS_WRITE)
        self.type = DataType(info.type.code, info.type.bits, info.type.lanes)
        self.packed = (info.packed_rows, info.packed_columns) if info.packed_rows else None
        self.is_bfloat16 = self.is_tensor and (self.type.code, self.type.bits) == BFLOAT16
        self.dtype = NUMPY[self.type.code, self.type.bits] if self.is_tensor else None


class Program:
    def __init__(self, library, directory):
        self.library, self.directory = library, pathlib.Path(directory)
        self.handle = ctypes.c_void_p()
        library.check(library.c.evt_program_load(str(directory).encode(), ctypes.byref(self.handle)))
        count = library.c.evt_program_argument_count(self.handle)
        self.arguments = [Argument(library.c.evt_program_argument(self.handle, i).contents) for i in range(count)]

    def _launch(self, values, as_tensor, *options):
        """`as_tensor(argument, value)` gives the address, device and rank of a tensor argument's value."""
        packed = (Value * len(self.arguments))()
        alive = []
        for slot, argument in zip(packed, self.arguments):
            value = values[argument.name]
            if not argument.is_tensor:
                slot.index = value
                continue
            address, device, rank = as_tensor(argument, value)
            shape = (ctypes.c_int64 * max(rank, 1))(*value.shape)
            tensor = Tensor(address, device, rank, argument.type, ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)),
                            None, 0)
            alive += [shape, tensor]
            slot.tensor = ctypes.pointer(tensor)
        options = LaunchOptions(ctypes.sizeof(LaunchOptions), *options)
        self.library.check(self.library.c.evt_program_launch(self.handle, packed, len(packed), ctypes.byref(options)))

    def launch(self, values, schedule, workers, perturb=0):
        """`values` holds an array for each tensor argument and an int for each index argument, by name."""

        def as_tensor(argument, value):
            if value.dtype != argument.dtype or not value.flags.c_contiguous:
                raise LaunchError(f"'{argument.name}' is {value.dtype}, required is dense {argument.dtype.__name__}")
            return value.ctypes.data, Device(CPU, 0), value.ndim

        self._launch(values, as_tensor, workers, schedule.encode(), 10.0, perturb, -1, -1, None, None, -1, -1, -1)

    def enqueue(self, values, stream, schedule, workers=0, part=(-1, -1, -1)):
        """Launches on a CUDA stream without waiting: all of the graph, or of a first to a last call in one iteration. `values` holds a PyTorch tensor on the GPU for each tensor argument, of
        the argument's bytes (bf16 or packed weights included), and an int for each index argument, by name."""

        def as_tensor(argument, value):
            return value.data_ptr(), Device(CUDA, value.device.index or 0), value.dim()

        self._launch(values, as_tensor, workers, schedule.encode(), 5.0, 0, -1, -1, None, stream, *part)

    def close(self):
        self.library.c.evt_program_free(self.handle)
        self.handle = ctypes.c_void_p()
