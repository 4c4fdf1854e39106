package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/internal/config"
	"github.com/reprise-dev/reprise/proxy"
)

// settingsMaker turns configurations into settings of the proxy. What is costly to make, and the same as
// before a reload, is kept.
type settingsMaker struct {
	life       context.Context // of what is kept: key sets are read again as long as it lasts
	log        *slog.Logger
	principals map[principalKey]httpguard.Principal
}

type principalKey struct {
	spec string
	jwt  config.JWT
}

func (m *settingsMaker) make(c *config.Config, secrets *reprise.Secrets) (proxy.Settings, error) {
	s := proxy.Settings{Upstream: c.Upstream, ClientHost: c.ClientHost, TrustForwarded: c.TrustForwarded, Log: m.log}
	var err error
	if s.TLS, err = upstreamTLS(c.UpstreamTLS); err != nil {
		return proxy.Settings{}, err
	}
	for _, r := range c.Routes {
		route := proxy.Route{Path: r.Path, Operation: r.Operation, PrincipalName: r.Principal, UpstreamTimeout: r.UpstreamTimeout}
		route.Options.Methods = r.Methods
		if route.Unguarded = r.Key == config.Ignored; !route.Unguarded {
			principal, err := m.principal(r.Principal, c.JWT)
			if err != nil {
				return proxy.Settings{}, err
			}
			route.Policy, route.Options = m.policy(r, secrets), m.options(r, principal)
		}
		s.Routes = append(s.Routes, route)
	}
	return s, nil
}

func (m *settingsMaker) principal(spec string, jwt config.JWT) (httpguard.Principal, error) {
	key := principalKey{spec, jwt}
	if p, ok := m.principals[key]; ok {
		return p, nil
	}
	p, err := httpguard.ParsePrincipal(m.life, spec, httpguard.JWTOptions{
		JWKS: jwt.JWKS, Issuer: jwt.Issuer, Audience: jwt.Audience, Leeway: jwt.Leeway, Log: m.log,
	})
	if err != nil {
		return nil, err
	}
	if m.principals == nil {
		m.principals = map[principalKey]httpguard.Principal{}
	}
	m.principals[key] = p
	return p, nil
}

func (m *settingsMaker) policy(r config.Route, secrets *reprise.Secrets) reprise.Policy {
	p := reprise.Policy{
		Secrets: secrets, Revision: r.PolicyRevision,
		Lease: r.Lease, CommandTimeout: r.CommandTimeout, ReplayWindow: r.ReplayWindow, Remember: r.Remember,
		RetryableFor: r.RetryableFor, RetryHorizon: r.Horizon, Wait: r.Wait, MaxKept: int(r.MaxKept), Log: m.log,
	}
	if r.Rerun {
		p.Interruption = reprise.Rerun
	}
	return p
}

func (m *settingsMaker) options(r config.Route, principal httpguard.Principal) httpguard.Options {
	return httpguard.Options{
		Methods: r.Methods, Header: r.Header, Required: r.Key == config.Required, Strict: r.Strict, Principal: principal,
		Exclude: r.Exclude, ExcludedBefore: r.ExcludedBefore, MaxBody: r.MaxBody, MaxKept: int(r.MaxKept),
		Final: r.Final, NoEffect: r.NoEffect, Unknown: r.Unknown, Statuses: r.Statuses, FailOpen: r.FailOpen, Log: m.log,
	}
}

// upstreamTLS returns how an https upstream is spoken to; nil is as the system does.
func upstreamTLS(c config.ClientTLS) (*tls.Config, error) {
	if c == (config.ClientTLS{}) {
		return nil, nil
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName, InsecureSkipVerify: c.AcceptAny}
	if c.CA != "" {
		pool, err := readAuthorities("upstream-tls.ca", c.CA)
		if err != nil {
			return nil, err
		}
		t.RootCAs = pool
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("upstream-tls.cert and upstream-tls.key: %w", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

// listenerTLS returns how clients are spoken to; nil is without TLS.
func listenerTLS(c config.ServerTLS) (*tls.Config, error) {
	if c.Cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, fmt.Errorf("tls.cert and tls.key: %w", err)
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	if c.ClientCA != "" {
		if t.ClientCAs, err = readAuthorities("tls.client-ca", c.ClientCA); err != nil {
			return nil, err
		}
		t.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return t, nil
}

func readAuthorities(key, file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: %s holds no certificate in PEM", key, file)
	}
	return pool, nil
}
