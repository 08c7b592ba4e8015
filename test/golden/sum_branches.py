#!/usr/bin/env python3
"""sum_branches.py IN OUT: the golden data of a parallel block with biases.

Where attention and MLP stand side by side, their products are summed before
anything else, and biases follow the sum: what one branch gives with its bias is
no value of the compiled program. `layer.i.attn_out` and `layer.i.mlp_out` are
replaced by `layer.i.attn_mlp_out`, their sum in float64.
"""

import array
import json
import sys

source, target = sys.argv[1:]
data = open(source, "rb").read()
size = int.from_bytes(data[:8], "little")
header, body = json.loads(data[8:8 + size]), data[8 + size:]
metadata = header.pop("__metadata__", None)
tensors = {name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])])
           for name, entry in header.items()}
for name in [n for n in tensors if n.endswith(".attn_out")]:
    layer = name.removesuffix("attn_out")
    dtype, shape, attn = tensors.pop(name)
    other = tensors.pop(layer + "mlp_out")
    assert (dtype, shape) == (other[0], other[1]) and dtype == "F64"
    total = [a + b for a, b in zip(array.array("d", attn), array.array("d", other[2]))]
    tensors[layer + "attn_mlp_out"] = (dtype, shape, array.array("d", total).tobytes())

header, body = {} if metadata is None else {"__metadata__": metadata}, b""
for name, (dtype, shape, values) in sorted(tensors.items()):
    header[name] = {"dtype": dtype, "shape": shape,
                    "data_offsets": [len(body), len(body) + len(values)]}
    body += values
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(target, "wb").write(len(text).to_bytes(8, "little") + text + body)
