package reprise

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// MinSecret is the least length of a secret in bytes.
const MinSecret = 32

// Secret is one version of the bytes under which keys are digested. Whoever has them and the store
// can test guesses of keys; whoever loses them makes every recorded key look new.
type Secret struct {
	// Version counts from 1 and rises.
	Version uint32
	// Bytes are at least MinSecret bytes, random. They are copied.
	Bytes []byte
	// PrimaryFrom is when records are first made under this version, on the store's clock. Zero for
	// the first version. A later one must lie at least [SecretNotice] ahead when the first process
	// announces it, and all processes must know it by then.
	PrimaryFrom time.Time
}

// Secrets are the versions of the secret that a process knows. They do not change.
type Secrets struct {
	keys []*secretKey // by rising version
}

// NewSecrets checks and copies the versions.
func NewSecrets(versions ...Secret) (*Secrets, error) {
	if len(versions) == 0 {
		return nil, invalid("no secret: at least one version is needed")
	}
	sorted := slices.Clone(versions)
	slices.SortFunc(sorted, func(a, b Secret) int { return int(a.Version) - int(b.Version) })
	s := &Secrets{}
	for i, v := range sorted {
		switch {
		case v.Version == 0:
			return nil, invalid("secret versions count from 1")
		case v.Version > store.MaxSecretVersion:
			return nil, invalid("secret version %d is above %d", v.Version, store.MaxSecretVersion)
		case len(v.Bytes) < MinSecret:
			return nil, invalid("secret version %d has %d bytes; at least %d random bytes are needed", v.Version, len(v.Bytes), MinSecret)
		case i > 0 && v.Version == sorted[i-1].Version:
			return nil, invalid("secret version %d is given twice", v.Version)
		case slices.ContainsFunc(sorted[:i], func(o Secret) bool { return bytes.Equal(o.Bytes, v.Bytes) }):
			return nil, invalid("secret version %d has the bytes of an earlier one", v.Version)
		case i > 0 && !v.PrimaryFrom.After(sorted[i-1].PrimaryFrom):
			return nil, invalid("secret version %d must say from when it is primary, later than version %d", v.Version, sorted[i-1].Version)
		}
		s.keys = append(s.keys, newSecretKey(v))
	}
	return s, nil
}

// ParseSecrets reads a secret file: a line `VERSION BASE64 [primary-from=RFC3339]` for each version.
// Empty lines and lines that begin with # say nothing.
func ParseSecrets(text []byte) (*Secrets, error) {
	var versions []Secret
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		v, err := parseSecretLine(line)
		if err != nil {
			return nil, invalid("secret file, line %d: %v; expected `VERSION BASE64 [primary-from=RFC3339]`", i+1, err)
		}
		versions = append(versions, v)
	}
	return NewSecrets(versions...)
}

// parseSecretLine never repeats what it read: it may be the secret.
func parseSecretLine(line string) (Secret, error) {
	fields := strings.Fields(line)
	if len(fields) < 2 || len(fields) > 3 {
		return Secret{}, fmt.Errorf("%d fields", len(fields))
	}
	number, err := strconv.ParseUint(fields[0], 10, 32)
	if err != nil {
		return Secret{}, fmt.Errorf("the version is not a number")
	}
	v := Secret{Version: uint32(number)}
	if v.Bytes, err = base64.StdEncoding.DecodeString(fields[1]); err != nil {
		return Secret{}, fmt.Errorf("the secret is not base64")
	}
	if len(fields) == 3 {
		from, ok := strings.CutPrefix(fields[2], "primary-from=")
		if !ok {
			return Secret{}, fmt.Errorf("the third field is not primary-from=")
		}
		if v.PrimaryFrom, err = time.Parse(time.RFC3339, from); err != nil {
			return Secret{}, fmt.Errorf("primary-from is not a time such as 2026-01-31T12:00:00Z")
		}
	}
	return v, nil
}

// GenerateSecretFile returns the text of a new secret file with one random version.
func GenerateSecretFile() ([]byte, error) {
	secret := make([]byte, MinSecret)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "# Reprise secret. Keep it with the store: without it every recorded key looks new.\n1 %s\n",
		base64.StdEncoding.EncodeToString(secret)), nil
}
