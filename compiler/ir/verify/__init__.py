"""The verifier: rules that every module of the IR keeps."""
