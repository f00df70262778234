"""Datasets, samplers, and the loader that makes batches of them."""

from clew.utils.data import _utils, dataloader, datapipes, dataset, distributed, sampler
from clew.utils.data.dataloader import (
    DataLoader,
    _DatasetKind,
    default_collate,
    default_convert,
    get_worker_info,
)
from clew.utils.data.datapipes.datapipe import (
    DataChunk,
    IterDataPipe,
    MapDataPipe,
    functional_datapipe,
)
from clew.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from clew.utils.data.distributed import DistributedSampler
from clew.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "DataLoader", "default_collate", "default_convert", "get_worker_info",
    "Dataset", "IterableDataset", "TensorDataset", "StackDataset", "ConcatDataset", "ChainDataset",
    "Subset", "random_split",
    "Sampler", "SequentialSampler", "RandomSampler", "SubsetRandomSampler",
    "WeightedRandomSampler", "BatchSampler", "DistributedSampler",
    "DataChunk", "IterDataPipe", "MapDataPipe", "datapipes", "functional_datapipe",
    "_DatasetKind", "_utils", "dataloader", "dataset", "distributed", "sampler",
]  # fmt: skip
