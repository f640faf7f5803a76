"""The names in `olscale.learners`, for type checkers: other learners are `Any` to them."""

from typing import Any

from olscale.compiled.csr import Rows as Rows
from olscale.compiled.decorator import compiled as compiled
from olscale.compiled.row_layout import by_layout as by_layout
from olscale.compiled.rows import add_column as add_column
from olscale.compiled.rows import add_row as add_row
from olscale.compiled.rows import column_sums as column_sums
from olscale.compiled.rows import row_scores as row_scores
from olscale.compiled.rows import set_column as set_column
from olscale.compiled.rows import weight_of as weight_of
from olscale.learners.bayes.multinomial_naive_bayes import (
    MultinomialNaiveBayes as MultinomialNaiveBayes,
)
from olscale.learners.bayes.naive_bayes import NaiveBayes as NaiveBayes
from olscale.learners.contract.capability import LooksAhead as LooksAhead
from olscale.learners.contract.class_axes import ShardsClasses as ShardsClasses
from olscale.learners.contract.class_axes import class_axis as class_axis
from olscale.learners.contract.class_shards import count_update as count_update
from olscale.learners.contract.compilation import CompilesLoops as CompilesLoops
from olscale.learners.contract.cost import EstimatesCost as EstimatesCost
from olscale.learners.contract.detector import Detector as Detector
from olscale.learners.contract.detector import OnePassDetector as OnePassDetector
from olscale.learners.contract.estimator import Classifier as Classifier
from olscale.learners.contract.estimator import OnePassLearner as OnePassLearner
from olscale.learners.contract.fused_settings import FusedSettings as FusedSettings
from olscale.learners.contract.fused_settings import FusesSettings as FusesSettings
from olscale.learners.contract.learner import UNKNOWN as UNKNOWN
from olscale.learners.contract.learner import FloatArray as FloatArray
from olscale.learners.contract.learner import Learner as Learner
from olscale.learners.contract.learner import State as State
from olscale.learners.contract.parameters import Choice as Choice
from olscale.learners.contract.parameters import Domain as Domain
from olscale.learners.contract.parameters import Flag as Flag
from olscale.learners.contract.parameters import Maybe as Maybe
from olscale.learners.contract.parameters import Real as Real
from olscale.learners.contract.parameters import Whole as Whole
from olscale.learners.contract.parameters import param as param
from olscale.learners.contract.regressor import OnePassRegressor as OnePassRegressor
from olscale.learners.contract.regressor import Regressor as Regressor
from olscale.learners.contract.update_rule import rule_of as rule_of
from olscale.learners.contract.usable_rows import unusable as unusable
from olscale.learners.contract.weighted import WeightedClassifier as WeightedClassifier
from olscale.learners.contract.weighted import WeightedRegressor as WeightedRegressor
from olscale.learners.ensemble.drift_ensemble import DriftEnsemble as DriftEnsemble
from olscale.learners.kernel.bogd import BOGD as BOGD
from olscale.learners.kernel.bpas import BPAS as BPAS
from olscale.learners.kernel.bsgd import BSGD as BSGD
from olscale.learners.kernel.fogd import FOGD as FOGD
from olscale.learners.kernel.forgetron import Forgetron as Forgetron
from olscale.learners.kernel.kernel_perceptron import (
    KernelPerceptron as KernelPerceptron,
)
from olscale.learners.kernel.kernel_perceptron import (
    KernelPerceptronR as KernelPerceptronR,
)
from olscale.learners.kernel.kernel_perceptron import OGDKernel as OGDKernel
from olscale.learners.kernel.krls import KRLS as KRLS
from olscale.learners.kernel.nogd import NOGD as NOGD
from olscale.learners.kernel.norma import NORMA as NORMA
from olscale.learners.kernel.norma import NORMAN as NORMAN
from olscale.learners.kernel.norma import NORMAR as NORMAR
from olscale.learners.kernel.olk import OLK as OLK
from olscale.learners.kernel.olk import OLKN as OLKN
from olscale.learners.kernel.olk import OLKR as OLKR
from olscale.learners.kernel.projectron import Projectron as Projectron
from olscale.learners.kernel.projectron import ProjectronPlusPlus as ProjectronPlusPlus
from olscale.learners.kernel.rbp import RBP as RBP
from olscale.learners.kernel.replay_svm import ReplaySVM as ReplaySVM
from olscale.learners.linear.adagrad import AdaGrad as AdaGrad
from olscale.learners.linear.arow import AROW as AROW
from olscale.learners.linear.confidence_weighted import CW as CW
from olscale.learners.linear.confidence_weighted import SCW1 as SCW1
from olscale.learners.linear.confidence_weighted import SCW2 as SCW2
from olscale.learners.linear.first_order import LinearLearner as LinearLearner
from olscale.learners.linear.first_order import implements as implements
from olscale.learners.linear.ftrl import FTRL as FTRL
from olscale.learners.linear.gradient_descent import OGD as OGD
from olscale.learners.linear.logistic import Logistic as Logistic
from olscale.learners.linear.passive_aggressive import PA as PA
from olscale.learners.linear.passive_aggressive import PA1 as PA1
from olscale.learners.linear.passive_aggressive import PA2 as PA2
from olscale.learners.linear.pegasos import Pegasos as Pegasos
from olscale.learners.linear.perceptron import Perceptron as Perceptron
from olscale.learners.linear.regression import PA1R as PA1R
from olscale.learners.linear.regression import PA2R as PA2R
from olscale.learners.linear.regression import PAR as PAR
from olscale.learners.linear.regression import SGDR as SGDR
from olscale.learners.linear.regression import LinearRegressor as LinearRegressor
from olscale.learners.linear.ridge import Ridge as Ridge
from olscale.learners.linear.rls import RLS as RLS
from olscale.learners.local.amm import AMM as AMM
from olscale.learners.local.lol import ILOL as ILOL
from olscale.learners.local.lol import LOL as LOL
from olscale.learners.local.ollc import OLLC as OLLC
from olscale.learners.local.pamo import PAMO1 as PAMO1
from olscale.learners.local.pamo import PAMO2 as PAMO2
from olscale.learners.local.soft_lol import SoftLOL as SoftLOL
from olscale.learners.neighbour.knn_window import KNNWindow as KNNWindow
from olscale.learners.network.ipca_lda import IPCALDA as IPCALDA
from olscale.learners.network.oselm import OSELM as OSELM
from olscale.learners.network.oselm import OSELMR as OSELMR
from olscale.learners.network.oselm import SVDOSELM as SVDOSELM
from olscale.learners.network.pvm import OSPVM as OSPVM
from olscale.learners.network.pvm import PVM as PVM
from olscale.learners.network.rff_rls import RFFRLS as RFFRLS
from olscale.learners.network.rff_rls import RFFRLSR as RFFRLSR
from olscale.learners.reference.baselines import LastValue as LastValue
from olscale.learners.reference.baselines import Majority as Majority
from olscale.learners.reference.baselines import Mean as Mean
from olscale.learners.reference.baselines import NoChange as NoChange
from olscale.learners.reference.batch_boosting import BatchBoosting as BatchBoosting
from olscale.learners.reference.batch_logistic import BatchLogistic as BatchLogistic
from olscale.learners.reference.batch_svm import BatchSVM as BatchSVM
from olscale.learners.reference.svm import LSSVM as LSSVM
from olscale.learners.reference.svm import SVM as SVM
from olscale.learners.reference.svm import SVR as SVR
from olscale.learners.reference.svm import OneClassSVM as OneClassSVM
from olscale.learners.tiles.pair_tiles import PairTiles as PairTiles
from olscale.learners.tree.adaptive_forest import (
    AdaptiveRandomForest as AdaptiveRandomForest,
)
from olscale.learners.tree.adaptive_forest_r import (
    AdaptiveRandomForestR as AdaptiveRandomForestR,
)
from olscale.learners.tree.fimt_dd import FIMTDD as FIMTDD
from olscale.learners.tree.hoeffding_adaptive_tree import (
    HoeffdingAdaptiveTree as HoeffdingAdaptiveTree,
)
from olscale.learners.tree.hoeffding_tree import HoeffdingTree as HoeffdingTree

def __getattr__(name: str) -> Any: ...
