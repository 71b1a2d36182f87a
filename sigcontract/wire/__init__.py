"""The only way in and out: documents, their versions, digests and schemas."""
