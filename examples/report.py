"""Write the report of a model of wines: python examples/report.py wine-report.html"""

from __future__ import annotations

import argparse

from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from torte import MCEClassifier
from torte.report import write_report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", help="where the page goes")
    path = parser.parse_args().path
    data = load_wine(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    model = MCEClassifier(random_state=0).fit(X, y)
    print(write_report(model, path, X_new, y_new, title="Wine"))


if __name__ == "__main__":
    main()
