package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/reprise-dev/reprise/internal/config"
)

// reload reads configuration, secret and certificates again. If anything is wrong, all stays as it was.
func (s *service) reload(ctx context.Context) {
	if err := s.tryReload(ctx); err != nil {
		s.log.Error("not reloaded: everything goes on as before", "error", err)
		return
	}
	s.log.Info("reloaded", "routes", len(s.config.Routes))
}

func (s *service) tryReload(ctx context.Context) error {
	c, err := s.flags.load()
	if err != nil {
		return err
	}
	if changed := needRestart(s.config, c); len(changed) > 0 {
		return fmt.Errorf("%s changed, which needs a restart", strings.Join(changed, ", "))
	}
	t, err := listenerTLS(c.TLS)
	if err != nil {
		return err
	}
	settings, err := s.settings(ctx, c)
	if err != nil {
		return err
	}
	if err := s.proxy.Replace(ctx, settings, c.AcceptScopeChange); err != nil {
		return err
	}
	if t != nil {
		s.tls.Store(t)
	}
	s.config = c
	return nil
}

// needRestart returns the keys that differ and cannot change while the program runs.
func needRestart(before, after *config.Config) []string {
	var changed []string
	for name, differs := range map[string]bool{
		"listen":         before.Listen != after.Listen,
		"store":          before.Store != after.Store,
		"secret-file":    before.SecretFile != after.SecretFile,
		"admin-listen":   before.AdminListen != after.AdminListen,
		"purge-interval": before.PurgeInterval != after.PurgeInterval,
		"log":            before.Log != after.Log,
		"tls":            (before.TLS.Cert == "") != (after.TLS.Cert == ""),
	} {
		if differs {
			changed = append(changed, name)
		}
	}
	return changed
}
