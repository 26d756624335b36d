"""What there is to see in a fitted model, as frozen values: the figures only draw them."""

from torte.inspection.calibration import Reliability, reliability
from torte.inspection.columns import Table, table
from torte.inspection.evaluation import Evaluation, evaluate, judge
from torte.inspection.histories import Curves, curves, plan_of
from torte.inspection.leaving_out import leave_one_out_probabilities
from torte.inspection.models import Inspected, inspect_model
from torte.inspection.relevance import Relevance, combined, image_shape, movement, relevance
from torte.inspection.surfaces import Surface, class_colors, surface

__all__ = [
    "Curves",
    "Evaluation",
    "Inspected",
    "Relevance",
    "Reliability",
    "Surface",
    "Table",
    "class_colors",
    "combined",
    "curves",
    "evaluate",
    "image_shape",
    "inspect_model",
    "judge",
    "leave_one_out_probabilities",
    "movement",
    "plan_of",
    "relevance",
    "reliability",
    "surface",
    "table",
]
