from committee.mlflow.flavour import load_model as load_model
from committee.mlflow.flavour import log_model as log_model
from committee.mlflow.flavour import save_model as save_model
