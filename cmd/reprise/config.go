package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/internal/config"
	"github.com/reprise-dev/reprise/proxy"
	"github.com/reprise-dev/reprise/store/memstore"
)

func newConfigCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check, print or explain the configuration",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigCheckCommand(p), newConfigPrintCommand(), newConfigExplainCommand())
	return cmd
}

func newConfigCheckCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say what is wrong with a configuration, or how it will be used",
		Long:  "Reads the configuration as `reprise proxy` does with the same flags and variables, and the files that it names, the secret among them.\nNothing is started, and the store is not touched.",
		Args:  noArguments,
	}
	flags := addConfigFlags(cmd, p)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return checkConfig(cmd, p, flags) }
	return cmd
}

// checkConfig does all that a start does before it opens the store.
func checkConfig(cmd *cobra.Command, p process, flags *configFlags) error {
	c, err := flags.load()
	if err != nil {
		return err
	}
	at, previous, err := parsePlaces(c.Store)
	if err != nil {
		return err
	}
	log := newLogger(cmd.ErrOrStderr(), c.Log)
	for is, meant := range config.Misspelt(p.Environ) { // as a start says it
		log.Warn("a variable has no meaning here", "variable", is, "meant", meant)
	}
	if err := rehearse(cmd.Context(), &settingsMaker{life: cmd.Context(), log: log}, c); err != nil {
		return usageError{err}
	}
	secret, err := newSecretSource(firstOf(previous, at), c.SecretFile, variable(p.Environ, secretVariable))
	if err == nil {
		err = secret.check(log)
	}
	if err != nil {
		return usageError{err}
	}
	return describe(cmd.OutOrStdout(), c, withPrevious(at, previous))
}

// rehearse builds everything but the store, and a proxy that is thrown away.
func rehearse(ctx context.Context, maker *settingsMaker, c *config.Config) error {
	if _, err := listenerTLS(c.TLS); err != nil {
		return err
	}
	secrets, err := randomSecrets()
	if err != nil {
		return err
	}
	settings, err := maker.make(c, secrets)
	if err != nil {
		return err
	}
	p, err := proxy.New(ctx, memstore.New(nil), settings, nil)
	if err != nil {
		return err
	}
	return p.Close(ctx)
}

// describe says in words how a configuration will be used.
func describe(out io.Writer, c *config.Config, p *place) error {
	_, err := fmt.Fprintf(out, "ok: %s in front of %s, records in %v\n", c.Listen, c.Upstream, p)
	for _, r := range c.Routes {
		if err != nil {
			return err
		}
		if r.Key == config.Ignored {
			_, err = fmt.Fprintf(out, "%s: not guarded\n", r.Path)
			continue
		}
		interruption := reprise.Quarantine
		if r.Rerun {
			interruption = reprise.Rerun
		}
		_, err = fmt.Fprintf(out, "%s: %v, key %s in %s, principal %s, %v\n", r.Path, r.Methods, r.Key, r.Header, r.Principal, interruption)
	}
	return err
}

func newConfigPrintCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "print-default",
		Short: "Print a configuration file with every key and its meaning",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), config.PrintDefault())
			return err
		},
	}
}

func newConfigExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Explain a key of the configuration, or list all",
		Args:  atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := config.Explain(append(args, "")[0])
			if err != nil {
				return usageError{err}
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
}
