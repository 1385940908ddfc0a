"""Public datasets for studies and tests, each with a pinned checksum.

    >>> load("adult", split="train")              # doctest: +SKIP
    >>> rows, labels = load_a9a(split="test")     # doctest: +SKIP

Set the environment variable ``CONFIDE_DATA`` to the folder that contains the datasets.
Otherwise, datasets with a public URL are downloaded to the cache. The data are not cleaned,
and missing values are read as NaN.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from types import MappingProxyType
from typing import Final, TypeAlias

import pandas as pd
from scipy.sparse import csr_matrix

from confide._types import Array
from confide.data.datasets._fetch import DataFile, find, read
from confide.errors import InvalidParameter

Parser: TypeAlias = Callable[[BytesIO], pd.DataFrame]
"""Function that converts the decompressed content of a file to a data frame."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A public dataset: its files, their source, and a parser.

    Parameters
    ----------
    name : str
        Key in `DATASETS`.
    files : tuple of DataFile
        The files of the dataset, each identified by its ``split``.
    source : str
        Citation and licence, in one line.
    parse : callable or None
        Function that reads a file as a data frame; None if the data are not tabular.

    Examples
    --------
    >>> from confide.data import DATASETS
    >>> DATASETS["adult"].splits
    ('train', 'test')
    """

    name: str
    files: tuple[DataFile, ...]
    source: str
    parse: Parser | None

    @property
    def splits(self) -> tuple[str | None, ...]:
        """The possible values of ``split``, including None if it may be omitted."""
        return tuple(file.split for file in self.files)

    def file(self, split: str | None = None) -> DataFile:
        """Return the file that contains a split, such as "train"."""
        for file in self.files:
            if file.split == split:
                return file
        allowed = " or ".join(map(repr, self.splits))
        raise InvalidParameter("split", f"{allowed} for {self.name}", split)

    def fetch(self) -> None:
        """Download missing files, and verify the checksums of all files."""
        for file in self.files:
            find(file, self.source)


def load(name: str | Dataset, split: str | None = None) -> pd.DataFrame:
    """Read a dataset as a data frame, one row per record.

    Parameters
    ----------
    name : str or Dataset
        Key of `DATASETS`, or a user-defined `Dataset`.
    split : str, optional
        "train" or "test" for adult; "sample" for a small Californian sample of acs.
        The other datasets have no splits.

    Returns
    -------
    DataFrame
        The records.

    Raises
    ------
    InvalidParameter
        The name or the split is unknown, or the dataset is not tabular.
    DataNotFound
        The file is not on this machine and cannot be downloaded.
    InvalidData
        The file does not have the pinned checksum.

    Examples
    --------
    >>> from confide.data import load
    >>> load("adult", "train").shape  # doctest: +SKIP
    (32561, 15)
    """
    dataset = _look_up(name)
    if dataset.parse is None:
        raise InvalidParameter(
            "name", "a tabular dataset", dataset.name, f"Use load_{dataset.name}."
        )
    return dataset.parse(BytesIO(read(dataset.file(split), dataset.source)))


def load_a9a(split: str) -> tuple[csr_matrix, Array]:
    """Read a9a, a sparse 0/1 matrix with 123 columns and labels −1 or 1.

    Parameters
    ----------
    split : {"train", "test"}
        The split to read.

    Returns
    -------
    tuple of csr_matrix and ndarray
        Features and labels.

    Examples
    --------
    >>> from confide.data import load_a9a
    >>> features, labels = load_a9a("train")  # doctest: +SKIP
    >>> features.shape  # doctest: +SKIP
    (32561, 123)
    """
    from sklearn.datasets import load_svmlight_file

    dataset = DATASETS["a9a"]
    content = BytesIO(read(dataset.file(split), dataset.source))
    rows, labels = load_svmlight_file(content, n_features=123, zero_based=False)
    return rows, labels


def _look_up(name: str | Dataset) -> Dataset:
    if isinstance(name, Dataset):
        return name
    if name not in DATASETS:
        raise InvalidParameter("name", f"one of {', '.join(DATASETS)}", name)
    return DATASETS[name]


# ------------------------------------------------------------------------ parsers

# fmt: off
_ADULT_COLUMNS: Final = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status",
    "occupation", "relationship", "race", "sex", "capital-gain", "capital-loss",
    "hours-per-week", "native-country", "income",
]

_KDDCUP99_COLUMNS: Final = [
    "duration", "protocol_type", "service", "flag", "src_bytes", "dst_bytes", "land",
    "wrong_fragment", "urgent", "hot", "num_failed_logins", "logged_in",
    "num_compromised", "root_shell", "su_attempted", "num_root", "num_file_creations",
    "num_shells", "num_access_files", "num_outbound_cmds", "is_host_login",
    "is_guest_login", "count", "srv_count", "serror_rate", "srv_serror_rate",
    "rerror_rate", "srv_rerror_rate", "same_srv_rate", "diff_srv_rate",
    "srv_diff_host_rate", "dst_host_count", "dst_host_srv_count",
    "dst_host_same_srv_rate", "dst_host_diff_srv_rate", "dst_host_same_src_port_rate",
    "dst_host_srv_diff_host_rate", "dst_host_serror_rate", "dst_host_srv_serror_rate",
    "dst_host_rerror_rate", "dst_host_srv_rerror_rate", "label",
]
# fmt: on


def _comma_separated(content: BytesIO) -> pd.DataFrame:
    return pd.read_csv(content)


def _adult(content: BytesIO) -> pd.DataFrame:
    """Parse an adult file, which has no header line and may begin with a ``|`` comment."""
    frame = pd.read_csv(
        content,
        names=_ADULT_COLUMNS,
        skipinitialspace=True,
        comment="|",
        na_values=["?"],
        keep_default_na=False,
    )
    return frame.assign(income=frame["income"].str.removesuffix("."))


def _bank(content: BytesIO) -> pd.DataFrame:
    return pd.read_csv(content, sep=";")


def _kddcup99(content: BytesIO) -> pd.DataFrame:
    frame = pd.read_csv(content, names=_KDDCUP99_COLUMNS)
    return frame.assign(label=frame["label"].str.removesuffix("."))


def _warfarin(content: BytesIO) -> pd.DataFrame:
    """Parse ``NA`` and empty fields as missing; drop three empty, unnamed columns."""
    frame = pd.read_csv(content, na_values=["NA", ""], keep_default_na=False)
    return frame.loc[:, ~frame.columns.str.startswith("Unnamed:")]


# ----------------------------------------------------------------------- registry

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"

_ALL = (
    Dataset(
        name="adult",
        files=(
            DataFile(
                "adult/adult.data.xz",
                "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                split="train",
                url=f"{_UCI}/adult/adult.data",
            ),
            DataFile(
                "adult/adult.test.xz",
                "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
                split="test",
                url=f"{_UCI}/adult/adult.test",
            ),
        ),
        source="Becker and Kohavi (1996), Adult, UCI Machine Learning Repository, "
        "doi:10.24432/C5XW20, CC BY 4.0",
        parse=_adult,
    ),
    Dataset(
        name="a9a",
        files=(
            DataFile(
                "a9a/a9a.gz",
                "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
                split="train",
                url=f"{_LIBSVM}/a9a",
            ),
            DataFile(
                "a9a/a9a.t.gz",
                "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
                split="test",
                url=f"{_LIBSVM}/a9a.t",
            ),
        ),
        source="Platt (1998) and Chang and Lin's LIBSVM data page: UCI Adult "
        "(doi:10.24432/C5XW20, CC BY 4.0), binarised",
        parse=None,
    ),
    Dataset(
        name="bank",
        files=(
            DataFile(
                "bank/bank-full.csv.gz",
                "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",
                url=f"{_UCI}/00222/bank.zip",
                member="bank-full.csv",
            ),
        ),
        source="Moro, Rita and Cortez (2014), Bank Marketing, UCI Machine Learning "
        "Repository, doi:10.24432/C5K306, CC BY 4.0",
        parse=_bank,
    ),
    Dataset(
        name="kddcup99",
        files=(
            DataFile(
                "kddcup99/kddcup.data_10_percent.gz",
                "f8c8267ebcd9c0ed1fd7d6277fe5bfff8732e9b7db8e61b873542b2a534b6f9a",
                url="http://kdd.ics.uci.edu/databases/kddcup99/kddcup.data_10_percent.gz",
            ),
        ),
        source="Stolfo, Fan, Lee, Prodromidis and Chan (1999), KDD Cup 1999, UCI "
        "Machine Learning Repository, doi:10.24432/C51C7N, CC BY 4.0",
        parse=_kddcup99,
    ),
    Dataset(
        name="california_housing",
        files=(
            DataFile(
                "california_housing/california_housing.csv.gz",
                "6c920b8ea6eae64f9e0a29ec8cc9c82ccd01d977bd1dcad4a8c15ab1fe30978a",
            ),
        ),
        source="Pace and Barry (1997), Sparse spatial autoregressions, Statistics & "
        "Probability Letters 33, from the US census of 1990, via StatLib",
        parse=_comma_separated,
    ),
    Dataset(
        name="randhie",
        files=(
            DataFile(
                "randhie/randhie.csv.gz",
                "9f6c87d05aef087a82cc4465310c8cd3f38327be6eafa43bd81fb98c4f3d088c",
            ),
        ),
        source="RAND Health Insurance Experiment, as in Cameron and Trivedi (2005), "
        "Microeconometrics, and in statsmodels; public domain",
        parse=_comma_separated,
    ),
    Dataset(
        name="acs",
        files=(
            DataFile(
                "acs/acs_pums_2018_1yr_person_14states.csv.xz",
                "e3cda53085e54fb94b49a12237f7d0a4ede8afc5cf2a74cdf67018655cce3208",
            ),
            DataFile(
                "acs/opendp_pums_1000.csv",
                "18b41cb75b1df17e166184f8f9a8f8d942aab7cd24e1dc4e0cf0ae64a6ac8b18",
                split="sample",
            ),
        ),
        source="US Census Bureau, American Community Survey 2018, 1-year PUMS, persons "
        "of 14 states, public domain; the sample: OpenDP, MIT",
        parse=_comma_separated,
    ),
    Dataset(
        name="warfarin",
        files=(
            DataFile(
                "warfarin/warfarin.csv.xz",
                "987e9c3e43775bd82a6a6da277888bea977fed8a6045cca2122c75a5b72bee4a",
            ),
        ),
        source="International Warfarin Pharmacogenetics Consortium (2009), N Engl J "
        "Med 360, from PharmGKB, CC BY-SA 4.0",
        parse=_warfarin,
    ),
)

DATASETS: Final[Mapping[str, Dataset]] = MappingProxyType({d.name: d for d in _ALL})
"""All datasets by name."""
