"""What happens to intents that their writers did not finish."""
