"""The pages of the three experiments on MNIST."""

from __future__ import annotations

import numpy as np

from torte.experiments import mnist_ard, mnist_conv, mnist_pixels
from torte.experiments.figures import COLORS, figure, save
from torte.experiments.pages import Comparison, made, table, write
from torte.experiments.records import Record
from torte.experiments.settings import Settings

__all__ = ["present_ard", "present_conv", "present_pixels"]

ARD_NAMES = {
    "mce": "MCE, with complexity",
    "erm": "MCE, without",
    "mce-lbfgs": "MCE, with complexity, L-BFGS",
    "erm-lbfgs": "MCE, without, L-BFGS",
    "isotropic": "MCE, isotropic, default objective",
    "ours": "MCE, ARD, default objective",
    "svc": "SVC, one against all",
    "gpc": "GPC, one against all",
}


def present_ard(settings: Settings) -> list[Comparison]:
    """Accuracy by the number of training images."""
    found, folder = mnist_ard.results(settings), settings.folder / "mnist-ard"
    methods = [name for name in ARD_NAMES if name in found]
    drawing = figure(7, 4.5)
    axes = drawing.subplots()
    for color, name in zip(COLORS, (m for m in methods if "lbfgs" not in m), strict=False):
        ns = list(found[name])
        axes.plot(
            ns, [found[name][n]["accuracy"] for n in ns], "o-", ms=4, color=color, label=ARD_NAMES[name]
        )  # fmt: skip
        theirs = mnist_ard.PUBLISHED.get(name, {})
        axes.plot(list(theirs), list(theirs.values()), "D", color=color, mfc="white")
    axes.set_xscale("log")
    axes.set_xlabel("training images")
    axes.set_ylabel("accuracy on the test images, %")
    axes.grid(alpha=0.3)
    axes.legend(title="hollow: printed in the paper")
    save(drawing, folder / "accuracy.png")

    def cell(name: str, n: int, key: str, form: str) -> str:
        return form.format(found[name][n][key]) if n in found[name] else "–"

    sizes = sorted({n for name in methods for n in found[name]})
    header = ["training images", *(ARD_NAMES[name] for name in methods)]
    lines = [
        Comparison(
            f"MNIST, n = {n}, {ARD_NAMES[name]}", f"{theirs} %", f"{found[name][n]['accuracy']:.2f} %"
        )
        for name, published in mnist_ard.PUBLISHED.items()
        for n, theirs in published.items()
        if n in found.get(name, {})
    ]  # fmt: skip
    largest = max(mnist_ard.PUBLISHED["mce"])
    lines += [
        Comparison(
            f"MNIST, n = {largest}, {ARD_NAMES[name]}",
            f"{mnist_ard.PUBLISHED['mce'][largest]} %",
            f"{found[name][largest]['accuracy']:.2f} %",
        )
        for name in ("mce-lbfgs", "isotropic", "ours")
        if largest in found.get(name, {})
    ]
    contents = [Record.read(path) for path in sorted(folder.glob("*.json"))]
    steps = max([content["protocol"].get("steps", 0) for content in contents])
    write(
        folder / "README.md",
        "MNIST: accuracy by the number of training images",
        [
            "An ARD Gaussian with one length scale a pixel, every hyperparameter started at 1, learned "
            "on all n images at once, with and without the complexity term. Accuracy in per cent on "
            "the standard test images:",
            table(header, [[str(n), *(cell(m, n, "accuracy", "{:.2f}") for m in methods)] for n in sizes]),
            "![Accuracy by training images](accuracy.png)",
            *(["The numbers that the paper prints:", table(["", "paper", "ours"], lines)] if lines else []),
            "Seconds of a fit (fits ran side by side: the size is right, it is no benchmark):",
            table(header, [[str(n), *(cell(m, n, "seconds", "{:.3g}") for m in methods)] for n in sizes]),
            f"The paper does not print the number of steps; here it is {steps} of Adam at 0.1 (its authors' "
            "script for 5000 images has 300), with the multiplier `4e/n`. Training images are taken in the order of the authors' code, which "
            "puts the first 5000 behind all others. \"Default objective\" is, with ARD, `MCEClassifier(Gaussian(ard=True))`, "
            "\"isotropic\" `MCEClassifier(Gaussian())`: "
            "the risk of rows left out; from 1500 images on batches, then a few steps of L-BFGS. Rivals: scikit-learn's SVC as it comes, for it "
            "cannot learn its kernel, and its Gaussian process classifier (Laplace, isotropic) up to "
            "1000 images, where ten processes of n^3 a step are still bearable. An accuracy of 9.8 % is that "
            "of the digit 0 for every image, where the optimizer left it.",
            made(contents),
        ],
        settings.quick,
    )  # fmt: skip
    return lines


def present_pixels(settings: Settings) -> list[Comparison]:
    """Length scales as images: dark where a small change of the pixel matters."""
    content, folder = mnist_pixels.results(settings), settings.folder / "mnist-pixels"
    groups = {d: content["results"][d] for d in mnist_pixels.GROUPS if d in content["results"]}
    drawing = figure(2.2 * len(groups), 2.7)
    for axes, (digits, entry) in zip(
        drawing.subplots(1, len(groups), squeeze=False).flat, groups.items(), strict=True
    ):
        scales = np.log10(np.reshape(entry["length_scales"], (28, 28)))
        # A pixel that is 0 in every image keeps its start, and is no shade of gray.
        moved = np.abs(scales) > 1e-6
        low, high = np.quantile(scales[moved], [0.02, 0.98])
        axes.imshow(np.where(moved, scales, np.nan), cmap="gray", vmin=low, vmax=high)
        axes.set_facecolor("#c9dcea")
        axes.set_title("/".join(digits) if len(digits) < 10 else "all ten", fontsize=10)
        axes.set_xticks([])
        axes.set_yticks([])
    save(drawing, folder / "pixels.png")
    rows = [
        [
            "/".join(digits),
            f"{entry['images']}",
            f"{np.min(entry['length_scales']):.2g}",
            f"{np.max(entry['length_scales']):.2g}",
            f"{entry['accuracy']:.2f}",
            f"{entry['seconds']:.0f}",
        ]
        for digits, entry in groups.items()
    ]
    protocol = content["protocol"]
    write(
        folder / "README.md",
        "MNIST: which pixels tell digits apart",
        [
            f"One length scale a pixel, all started at 1, learned in {protocol['steps']} steps of Adam at "
            f"0.1 on batches of {protocol['batch']} drawn from all training images of a group of digits.",
            "![Length scales of pixels](pixels.png)",
            "Logarithms of the length scales: dark pixels have short ones, so that a small change "
            "there changes the kernel most; light ones hardly count. Blue pixels are 0 in every image.",
            table(
                ["digits", "training images", "shortest", "longest", "accuracy %", "seconds"], rows
            ),
            f"The accuracy is on all test images of the digits, of the embedding of the first "
            f"{protocol['conditioned on']} training images with what was learned. The paper shows "
            "seven such images and prints no numbers to compare with.",
            made([content]),
        ],
        settings.quick,
    )
    return []


def present_conv(settings: Settings) -> list[Comparison]:
    """Accuracy by epoch, of the embedding and of softmax."""
    content, folder = mnist_conv.results(settings), settings.folder / "mnist-conv"
    curves = {
        head: [entry["accuracy"] for entry in content["results"][head]]
        for head in mnist_conv.HEADS
        if head in content["results"]
    }
    drawing = figure(7, 4.5)
    axes = drawing.subplots()
    for color, (head, curve) in zip(COLORS, curves.items(), strict=False):
        axes.plot(range(1, len(curve) + 1), curve, color=color, label=f"{head} head")
    axes.set_xlabel("epoch")
    axes.set_ylabel("accuracy on the test images, %")
    lowest = min(min(curve[len(curve) // 4 :]) for curve in curves.values())
    axes.set_ylim(max(0.0, lowest - 1.0), 100.0)
    axes.grid(alpha=0.3)
    axes.legend()
    save(drawing, folder / "accuracy.png")
    epochs = min(map(len, curves.values()))
    shown = sorted({1, 2, 3, 4, 5, 10, 15, 20, 50, 100, 200, 400, 800, epochs})
    rows = [
        [str(n), *(f"{curve[n - 1]:.2f}" for curve in curves.values())]
        for n in shown
        if n <= epochs
    ]
    verdict = "Only one of the two heads was run."
    if len(curves) == 2:
        above = sum(e > s for e, s in zip(curves["embedding"], curves["softmax"], strict=False))
        verdict = f"The embedding is above softmax at {above} of {epochs} epochs."
    lines = [
        Comparison(
            f"MNIST, convolutional, {head} head",
            f"{mnist_conv.PUBLISHED[head]} % after {mnist_conv.PAPER_EPOCHS} epochs",
            f"{curve[-1]:.2f} % after {len(curve)}",
        )
        for head, curve in curves.items()
    ]
    lines.append(
        Comparison("MNIST, convolutional, embedding above softmax", "at all epochs", verdict)
    )
    write(
        folder / "README.md",
        "MNIST: a convolutional network with an embedding head and with softmax",
        [
            "Both networks start from the same weights (deviation 0.1 cut at two, biases 0.1) and see "
            f"the same batches of {content['protocol']['batch']} in the same order; Adam at 0.01, dropout 0.5, "
            "`lambda` started at 10, the objective with the mean loss and the full `4e`, alpha = 1. "
            f"After every epoch both predict the test images. {verdict}",
            table(["", "paper", "ours"], lines),
            "![Accuracy by epoch](accuracy.png)",
            table(["epoch", *(f"{head}, %" for head in curves)], rows),
            made([content]),
        ],
        settings.quick,
    )
    return lines
