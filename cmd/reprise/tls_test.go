package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/httpguard"
)

// authority makes certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotAfter: time.Now().Add(time.Hour)}
	a.cert, a.key, a.pem, _ = a.issue(template, template, nil)
	return a
}

// pair makes a certificate for this machine or a client of it, and returns it and its key in PEM.
func (a *authority) pair(name string) (certificate, key string) {
	a.t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		a.t.Fatal(err)
	}
	_, _, certificate, key = a.issue(&x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, a.cert, a.key)
	return certificate, key
}

// issue signs a certificate with the parent's key, or with its own if that is nil.
func (a *authority) issue(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, string, string) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if parentKey == nil {
		parentKey = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		a.t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificate, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// client returns a client that trusts the authority and shows a certificate, if there is a name for it.
func (a *authority) client(name string) *http.Client {
	a.t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AddCert(a.cert)
	if name != "" {
		certificate, key := a.pair(name)
		pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
		if err != nil {
			a.t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
}

// TLS to clients and to the upstream: clients are told apart by their certificates, and a renewed
// certificate of the listener is used after a reload.
func TestTLS(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t), t.TempDir()
	renew := func() {
		certificate, key := a.pair("listener")
		writeFile(t, filepath.Join(dir, "cert.pem"), certificate)
		writeFile(t, filepath.Join(dir, "key.pem"), key)
	}
	renew()
	writeFile(t, filepath.Join(dir, "ca.pem"), a.pem)
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto+" "+r.Header.Get("X-Forwarded-Proto"))
	}))
	certificate, key := a.pair("upstream")
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	up.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	p := startProxy(t, dir, []string{"REPRISE_TLS_CERT=cert.pem", "REPRISE_TLS_KEY=key.pem", "REPRISE_TLS_CLIENT_CA=ca.pem", "REPRISE_UPSTREAM_TLS_CA=ca.pem"},
		"--upstream", up.URL, "--principal", "certificate")

	send := func(client *http.Client) (got, *x509.Certificate) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+p.address, strings.NewReader("book"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", "one")
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if response.ProtoMajor != 2 {
			t.Errorf("clients get %s, want HTTP/2", response.Proto)
		}
		return got{status: response.StatusCode, body: string(text), replayed: response.Header.Get(httpguard.HeaderReplayed) == "true", err: err}, response.TLS.PeerCertificates[0]
	}
	one, two := a.client("one"), a.client("two")
	g, before := send(one)
	if g.body != "HTTP/2.0 https" || g.replayed {
		t.Errorf("first: %+v", g)
	}
	if g, _ := send(one); !g.replayed {
		t.Errorf("retry: %+v", g)
	}
	if g, _ := send(two); g.status != 200 || g.replayed {
		t.Errorf("another client with the same key: %+v", g)
	}
	if g, _ := send(a.client("")); g.problem() != httpguard.ProblemPrincipalMissing {
		t.Errorf("a client without certificate: %+v", g)
	}
	renew()
	p.signal(syscall.SIGHUP)
	p.await("reloaded")
	if _, after := send(a.client("three")); after.Equal(before) {
		t.Error("the renewed certificate is not used")
	}
}
