"""The credentials of the S3 server that tests start (tests/s3_server.py)."""

KEYS = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
"""The environment of its clients."""
