"""The experiments of the paper, each from data to table, figure, JSON and a page.

An experiment has two stages: `measure` writes JSON as it goes and resumes where it stopped,
`present` draws and writes from what is in those files.
"""

from torte.experiments.run import EXPERIMENTS, reproduce
from torte.experiments.settings import Settings

__all__ = ["EXPERIMENTS", "Settings", "reproduce"]
