// Package restoretest makes large meters in SQL, for whoever measures how long a restore takes: a few statements fill all tables
// as imports, workers and folds would have.
package restoretest
