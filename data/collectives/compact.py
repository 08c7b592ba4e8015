#!/usr/bin/env python3
"""Makes CARD.csv of the published tables: compact.py TABLES FOLDER

TABLES holds aic_comm_latency.csv (AIConfigurator's measurements in one file) and
tokenweave_figure_{4,5}.csv (TokenWeave's artifact). README.md says what is kept.
"""
import collections
import csv
import pathlib
import re
import statistics
import sys

AIC = "aiconfigurator @095f58a"
TOKENWEAVE = "tokenweave @f483d1c431f5"
TOKENWEAVE_DATE = "2026-01-29"
ELEMENT_BYTES = {"half": 2, "bfloat16": 2}
COLLECTIVES = {"all_reduce": "all_reduce", "reduce_scatter": "reduce_scatter",
               "all_gather": "all_gather", "alltoall": "all_to_all"}
# kernel of the table -> algorithm, launch, the library that it belongs to
KERNELS = {
    "NCCL": ("nccl", "graph", "nccl"),
    "TRTLLM": ("trtllm", "graph", "trtllm"),
    "vLLM_custom_graph": ("vllm_custom", "graph", "vllm"),
    "vLLM_custom_eager": ("vllm_custom", "eager", "vllm"),
    "SGLang_CustomAllReduce_graph": ("sglang_custom", "graph", "sglang"),
    "SGLang_CustomAllReduce_eager": ("sglang_custom", "eager", "sglang"),
}
COLUMNS = ["card", "op", "ranks", "algorithm", "version", "use", "source",
           "date", "points"]


def version_key(algorithm, version):
    """The algorithm's own library before others that carry it, then by number."""
    own = version.startswith(algorithm.split("_")[0] + " ")
    return own, [int(x) for x in re.findall(r"\d+", version)]


def points_text(points):
    return " ".join(f"{size}:{us:.4g}" for size, us in sorted(points.items()))


def read_aic(path):
    runs = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in csv.DictReader(open(path)):
        if row["dtype"] not in ELEMENT_BYTES:
            continue  # int8 repeats the 16-bit runs at the same bytes
        algorithm, launch, _ = KERNELS[row["kernel"]]
        ranks = int(row["gpus"])
        size = int(row["elements"]) * ELEMENT_BYTES[row["dtype"]]
        if row["op"] == "alltoall":
            size *= ranks  # the table counts one rank's buffer
        key = (row["system"], COLLECTIVES[row["op"]], ranks, algorithm,
               row["source"], launch)
        runs[key][size].append(float(row["latency_us"]))
    # Engines replay graphs: eager runs only where a card has no other.
    graphs = {key[:1] + key[1:4] for key in runs if key[5] == "graph"}
    runs = {key: sizes for key, sizes in runs.items()
            if key[5] == "graph" or key[:4] not in graphs}
    newest = {}
    for key in runs:
        best = newest.setdefault(key[:4], key)
        if version_key(key[3], key[4]) > version_key(best[3], best[4]):
            newest[key[:4]] = key
    for key, sizes in sorted(runs.items()):
        card, op, ranks, algorithm, version, launch = key
        if launch == "eager":
            version += " eager"
        yield [card, op, ranks, algorithm, version,
               "deployed" if newest[key[:4]] == key else "older", AIC, "",
               points_text({size: statistics.median(times)
                            for size, times in sizes.items()})]


def read_tokenweave(folder):
    # One norm reads and writes the row and the residual: 4 x tokens x hidden.
    def column(figure, name, scale=1):
        rows = csv.DictReader(open(folder / f"tokenweave_figure_{figure}.csv"))
        return {int(float(r["BL"]) * float(r["hidden_size"]) * 2 * scale):
                float(r[name]) for r in rows}
    fused = "reduce_scatter_epilogue_all_gather"
    norms = collections.defaultdict(list)
    for points in (column(4, "full_rms_norm_us", 4),
                   column(4, "partial_rms_norm_us", 4 / 8)):
        for size, us in points.items():
            norms[size].append(us)
    norms = {size: statistics.median(times) for size, times in norms.items()}
    for op, algorithm, version, use, points in [
            ("all_reduce", "multimem", "pytorch symm_mem", "deployed",
             column(4, "multimem_all_reduce_us")),
            ("all_reduce", "nccl", "pytorch", "reference",
             column(4, "torch_all_reduce_us")),
            ("reduce_scatter", "multimem", "tokenweave", "deployed",
             column(4, "multimem_rs_us")),
            ("reduce_scatter", "nccl", "pytorch", "reference",
             column(5, "pytorch_dist_rs_us")),
            ("all_gather", "multimem", "tokenweave", "deployed",
             column(4, "multimem_ag_us")),
            ("all_gather", "nccl", "pytorch", "reference",
             column(5, "pytorch_dist_ag_us")),
            (fused, "tokenweave", "best CTA count", "deployed",
             column(4, "fused_arln_us")),
            ("all_reduce_epilogue", "tokenweave_simple", "", "deployed",
             column(4, "simple_fusion_arln_us")),
            ("row_kernel", "add_rms_norm", "", "deployed", norms)]:
        ranks = 1 if op == "row_kernel" else 8
        yield ["h100_sxm", op, ranks, algorithm, version, use, TOKENWEAVE,
               TOKENWEAVE_DATE, points_text(points)]


# Figures of pull requests. "inferred": the card is not named there.
PULL_REQUESTS = [
    ["h100_sxm", "all_reduce_epilogue", 2, "flashinfer_oneshot", "",
     "deployed", "vllm PR 22086", "", points_text({1 << 20: 16, 2 << 20: 30})],
    ["b300_sxm", "all_reduce_epilogue", 2, "flashinfer_oneshot", "",
     "deployed", "vllm PR 37756", "", points_text({64 << 20: 197})],
    ["b200_sxm", "all_reduce_epilogue", 8, "flashinfer_cutedsl", "",
     "inferred", "flashinfer PR 5178", "",
     points_text({rows * 5120 * 2: us for rows, us in
                  [(1, 4.8), (8, 5.2), (64, 8.3), (256, 13.7), (1024, 41.5),
                   (4096, 147.7), (8192, 304.9)]})],
]


def main():
    tables = pathlib.Path(sys.argv[1])
    rows = [*read_aic(tables / "aic_comm_latency.csv"),
            *read_tokenweave(tables), *PULL_REQUESTS]
    rows.sort(key=lambda r: (r[0], r[1], r[2], r[3], r[5], r[4]))
    for card in sorted({row[0] for row in rows}):
        path = pathlib.Path(sys.argv[2]) / f"{card}.csv"
        with open(path, "w", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(row for row in rows if row[0] == card)


if __name__ == "__main__":
    main()
