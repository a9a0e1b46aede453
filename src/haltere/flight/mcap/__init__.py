"""Flights as MCAP files: ROS 2 messages, written whole, read and checked."""
