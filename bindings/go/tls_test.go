// SPDX-License-Identifier: MIT
// Servers behind TLS: trusted, not trusted, and asking who we are.

package liblock_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

// authority signs certificates; its own is what clients and servers trust.
type authority struct {
	folder, file string
	certificate  *x509.Certificate
	key          *ecdsa.PrivateKey
}

func inFile(t *testing.T, path, kind string, bytes []byte) string {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// signed is a certificate for a host and its key, as files.
func (a *authority) signed(t *testing.T, name, host string) (certificate, key string) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	said := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{host}}
	by, signer := a.certificate, a.key
	if by == nil { // the authority itself
		said.IsCA, said.BasicConstraintsValid, said.KeyUsage = true, true, x509.KeyUsageCertSign
		by, signer = said, own
	}
	bytes, err := x509.CreateCertificate(rand.Reader, said, by, &own.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	certificate = inFile(t, filepath.Join(a.folder, name+".crt"), "CERTIFICATE", bytes)
	key = inFile(t, filepath.Join(a.folder, name+".key"), "EC PRIVATE KEY", private)
	if a.certificate == nil {
		a.key, a.file = own, certificate
		if a.certificate, err = x509.ParseCertificate(bytes); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}

func newAuthority(t *testing.T) *authority {
	a := &authority{folder: t.TempDir()}
	a.signed(t, "authority", "")
	return a
}

// freePort is not one of those that connections are given: one of these could take it before its server does.
func freePort(t *testing.T) int {
	t.Helper()
	for {
		above, err := rand.Int(rand.Reader, big.NewInt(10_000))
		if err != nil {
			t.Fatal(err)
		}
		port := 10_000 + int(above.Int64())
		if listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			listener.Close()
			return port
		}
	}
}

// behindTLS starts a server that wants to know its clients.
func behindTLS(t *testing.T, a *authority) (port int) {
	certificate, key := a.signed(t, "server", "localhost")
	port = freePort(t)
	server(t, "--tls-port", fmt.Sprint(port), "--bind", "127.0.0.1", "--tls-cert-file", certificate, "--tls-key-file",
		key, "--tls-ca-cert-file", a.file, "--tls-auth-clients", "yes")
	return port
}

func TestLocksGoThroughTLSWhereBothSidesAreTrusted(t *testing.T) {
	a := newAuthority(t)
	port := behindTLS(t, a)
	certificate, key := a.signed(t, "client", "client")
	url := fmt.Sprintf("rediss://localhost:%d", port)
	refused := map[string]*liblock.Context{
		"unknown": openURL(t, url, liblock.TLS("", "", certificate, key, "")),
		"name":    openURL(t, url, liblock.TLS(a.file, "", certificate, key, "example.org")),
		"bare":    openURL(t, url, liblock.TLS(a.file, "", "", "", "")),
	}
	for name, c := range refused {
		if err := c.Ping(background); err == nil {
			t.Fatal(name, " was trusted")
		}
	}
	_, err := liblock.Open(background, url, liblock.TLS(a.file+".not", "", "", "", ""))
	wants(t, err, liblock.ErrInvalidArgument)
	if !strings.Contains(err.Error(), a.file+".not") {
		t.Fatal("the error names no file: ", err)
	}
	one := openURL(t, url, liblock.TLS(a.file, "", certificate, key, ""))
	two := openURL(t, fmt.Sprintf("rediss://127.0.0.1:%d", port),
		liblock.TLS(a.file, "", certificate, key, "localhost"))
	held := lock(t, one, "a")
	any := openURL(t, url, liblock.TLS("", "", certificate, key, ""), liblock.TLSInsecure())
	_, err = any.TryLock(background, "a")
	wants(t, err, liblock.ErrBusy)
	granted := make(chan *liblock.Lock)
	go func() { l, _ := two.Lock(background, "a"); granted <- l }()
	until(t, "a waiter", func() bool { return waiters(t, one, "a") == 1 })
	unlock(t, held)
	next := <-granted
	if next == nil || next.Token() <= held.Token() {
		t.Fatal(next)
	}
	unlock(t, next)
}
