"""From a log to what the vehicle is: the log doctor first."""
