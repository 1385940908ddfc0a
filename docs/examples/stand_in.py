"""Synthetic tables that stand in for public ones, so that the gallery needs no download.

Each table has some columns of the public table that it is named after, with similar
distributions, and an outcome drawn from the model in the code below. The tables describe
nobody, so their figures say nothing about the real tables.
"""

import numpy as np
import pandas as pd


def adult_like(rows: int = 30_000, seed: int = 0) -> pd.DataFrame:
    """Return people with an income above or below 50,000 dollars, as in UCI Adult."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(8.0, 4.8, rows), 17, 90).round()
    schooling = np.clip(rng.normal(10, 2.5, rows), 1, 16).round()
    hours = np.clip(rng.normal(40, 11, rows), 1, 99).round()
    sex = rng.choice(["Female", "Male"], rows, p=[0.33, 0.67])
    married = rng.random(rows) < 0.65 * (1 - np.exp(-(age - 16) / 12))
    marital = np.where(married, "married", rng.choice(["never", "formerly"], rows))
    log_odds = (
        -2.6
        + 0.34 * (schooling - 10)
        + 0.03 * (hours - 40)
        + 0.03 * (age - 38)
        + 2.1 * married
        + 0.35 * (sex == "Male")
    )
    income = np.where(rng.logistic(size=rows) < log_odds, ">50K", "<=50K")
    return pd.DataFrame(
        {
            "age": age,
            "schooling": schooling,
            "hours": hours,
            "marital": marital,
            "sex": sex,
            "income": income,
        }
    )


def warfarin_like(rows: int = 4_000, seed: int = 0) -> pd.DataFrame:
    """Return patients and the weekly dose of warfarin that suits them, in mg."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(6.0, 1.5, rows), 1, 9).round()
    weight = np.clip(rng.normal(78, 19, rows), 40, 140).round(1)
    vkorc1 = rng.choice(["G/G", "A/G", "A/A"], rows, p=[0.30, 0.35, 0.35])
    cyp2c9 = rng.choice(["*1/*1", "*1/*2", "*1/*3"], rows, p=[0.77, 0.13, 0.10])
    amiodarone = rng.random(rows) < 0.06
    root = (
        7.2
        - 0.27 * (age - 6)
        + 0.012 * (weight - 78)
        + pd.Series(vkorc1).map({"G/G": 0.0, "A/G": -0.9, "A/A": -1.8}).to_numpy()
        + pd.Series(cyp2c9).map({"*1/*1": 0.0, "*1/*2": -0.5, "*1/*3": -0.9}).to_numpy()
        - 0.6 * amiodarone
    )
    dose = np.clip((root + rng.normal(0, 0.9, rows)) ** 2, 1, 120).round(1)
    return pd.DataFrame(
        {
            "age": age,
            "weight": weight,
            "vkorc1": vkorc1,
            "cyp2c9": cyp2c9,
            "amiodarone": amiodarone,
            "dose": dose,
        }
    )


def visits_like(rows: int = 20_000, seed: int = 0) -> pd.DataFrame:
    """Return yearly visits to a physician by insurance plan, as in the RAND experiment."""
    rng = np.random.default_rng(seed)
    coinsurance = rng.choice([0.0, 25.0, 50.0, 95.0], rows, p=[0.4, 0.2, 0.1, 0.3])
    diseases = np.clip(rng.gamma(2.8, 4.0, rows), 0, 60).round(1)
    limited = rng.random(rows) < 0.12
    health = rng.choice(
        ["excellent", "good", "fair", "poor"], rows, p=[0.54, 0.36, 0.08, 0.02]
    )
    worse = pd.Series(health).map({"excellent": 0, "good": 0.1, "fair": 0.3, "poor": 0.5})
    log_mean = (
        0.55
        - 0.08 * np.log1p(coinsurance)
        + 0.03 * diseases
        + 0.28 * limited
        + worse.to_numpy()
    )
    visits = rng.poisson(np.exp(log_mean) * rng.gamma(1.5, 1 / 1.5, rows))
    return pd.DataFrame(
        {
            "coinsurance": coinsurance,
            "diseases": diseases,
            "limited": limited,
            "health": health,
            "visits": visits,
        }
    )


def bank_like(rows: int = 45_000, seed: int = 0) -> pd.DataFrame:
    """Return clients who were called by a bank; about one in twenty subscribed."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(16, 2.6, rows), 18, 95).round()
    balance = np.sinh(rng.normal(1.0, 1.0, rows)) * 600
    calls = np.clip(rng.geometric(0.36, rows), 1, 50)
    contact = rng.choice(["cellular", "telephone", "unknown"], rows, p=[0.65, 0.07, 0.28])
    before = rng.choice(["none", "failure", "success"], rows, p=[0.85, 0.11, 0.04])
    log_odds = (
        -3.0
        + 0.02 * np.abs(age - 42)
        + 0.00004 * balance
        - 0.12 * (calls - 1)
        - 0.9 * (contact == "unknown")
        + 2.2 * (before == "success")
        + 0.2 * (before == "failure")
    )
    return pd.DataFrame(
        {
            "age": age,
            "balance": balance.round(),
            "calls": calls,
            "contact": contact,
            "before": before,
            "subscribed": np.where(rng.logistic(size=rows) < log_odds, "yes", "no"),
        }
    )
