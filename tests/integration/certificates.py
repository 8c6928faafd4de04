# SPDX-License-Identifier: MIT
"""Certificates for servers behind TLS, made by openssl and gone with the object."""
import pathlib
import subprocess
import tempfile


class Certificates:
    """A CA, and what it signed; made once."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="liblock-")
        self.path = pathlib.Path(self.directory.name)
        self.ca = self.authority("ca")
        self.stranger = self.authority("stranger")

    def run(self, *words):
        subprocess.run(["openssl", *map(str, words)], check=True, cwd=self.path, capture_output=True)

    def authority(self, name):
        self.run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                 f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}", "-days", 2)
        return name

    def signed(self, name, host, days=2, by=None):
        by = by or self.ca
        self.run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key",
                 "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (self.path / "names").write_text(f"subjectAltName=DNS:{host}\n")
        self.run("x509", "-req", "-in", f"{name}.csr", "-CA", f"{by}.crt", "-CAkey", f"{by}.key", "-CAcreateserial",
                 "-out", f"{name}.crt", "-days", days, "-extfile", "names")
        return {"certificate": str(self.path / f"{name}.crt"), "key": str(self.path / f"{name}.key"),
                "ca": str(self.path / "ca.crt")}
