"""Tables in files, data frames and Arrow."""
