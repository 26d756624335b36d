"""Fitted classifiers as ONNX files, for programs without Python or torch."""

from torte.onnx import features, kernels
from torte.onnx.graph import Graph, compares, maps, represents
from torte.onnx.models import export

__all__ = ["Graph", "compares", "export", "features", "kernels", "maps", "represents"]
