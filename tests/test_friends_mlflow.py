"""Models in MLflow: its flavour for scikit-learn, by skops with our trusted types; no server."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rejo
from rejo.persistence import TRUSTED_TYPES

# MLflow reads these when it is imported.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("DO_NOT_TRACK", "true")
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")

pytest.importorskip("skops")
mlflow = pytest.importorskip("mlflow", minversion="3.1")
sklearn_flavour = pytest.importorskip("mlflow.sklearn")
pytestmark = pytest.mark.filterwarnings("default")  # of MLflow and what it imports

POSTERIORS = rejo.ThresholdRejectClassifier(LogisticRegression(), reject_cost=0.2)
MODELS = {
    "posteriors": POSTERIORS,
    "machine": rejo.RejoSVC(reject_cost=0.2),
    "pipeline": make_pipeline(StandardScaler(), rejo.RejoLinear(reject_cost=0.2)),
    "operating point": rejo.RejectClassifierCV(POSTERIORS, review_budget=0.2, cv=2),
}


@pytest.fixture(scope="module")
def tracking(tmp_path_factory):
    folder = Path(tmp_path_factory.mktemp("mlflow"), "runs")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(folder.as_uri())
    with mlflow.start_run():
        yield
    mlflow.set_tracking_uri(before)


@pytest.mark.parametrize("name", MODELS)
def test_a_logged_model_decides_as_before(name, tracking):
    X, y = rejo.datasets.make_synthetic_1(120, random_state=0)
    model = MODELS[name].fit(X, y)
    info = sklearn_flavour.log_model(
        model, name="model", serialization_format="skops",
        skops_trusted_types=sorted(TRUSTED_TYPES), pip_requirements=["rejo[files]"],
    )  # fmt: skip
    loaded = sklearn_flavour.load_model(info.model_uri)
    assert type(loaded) is type(model)
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert rejo.review(loaded, X).equals(rejo.review(model, X))
    assert_array_equal(mlflow.pyfunc.load_model(info.model_uri).predict(X), model.predict(X))


def test_a_model_file_is_an_artifact(tracking, tmp_path):
    X, y = rejo.datasets.make_synthetic_1(120, random_state=0)
    model = rejo.RejoLinear().fit(X, y)
    rejo.save(model, tmp_path / "model.rejo")
    mlflow.log_artifact(tmp_path / "model.rejo")
    place = mlflow.active_run().info.artifact_uri + "/model.rejo"
    loaded = rejo.load(mlflow.artifacts.download_artifacts(place))
    assert np.array_equal(loaded.predict(X), model.predict(X))
