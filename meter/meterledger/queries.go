package meterledger

import (
	"fmt"
	"io/fs"
)

// queries are the statements of an engine: one file each. Arguments are numbered, and what each file says on
// top is true of both engines.
type queries struct {
	// The schema.
	lockSchema, unlockSchema, schemaVersion, schemaExists, createSchema statement
	session, now                                                        statement
	// Generations, and what waits for a restore.
	shareGeneration, lockGeneration, generation, setGeneration, generationUsed, addGeneration statement
	shareHold, lockHold, hold, setHold                                                        statement
	// Lines, families, apps.
	putFamilies, putLines, putMembers, putApps     statement
	families, lines, apps, counts                  statement
	endMember, addMember, history                  statement
	membersIn, familiesIn, nextFamilies, nextLines statement
	policyVersion, addPolicy, policies             statement
	lockLine, lockFamily                           statement
	pageLines, pageFamilies                        statement
	grant, ownerGrants, addGrants, unconfirmed     statement
	confirmGrants, grantsByID                      statement
	// The done log.
	setPurged, purgeLines, purgeable, purge                              statement
	append, lookUp, changes                                              statement
	newFold, takeUnfolded, raiseTotals, raiseSnapshots, raiseFolded      statement
	stamp, countFold, endFold, folds                                     statement
	lineGrants, familyGrants, lineSnapshots, familySnapshots, lineTotals statement
	unfolded, recent                                                     statement
	// The inbox.
	putInbox, takeInbox, leaseInbox, doneInbox, countInbox statement
	// The audit.
	auditUsage, auditTotals, auditMonths, auditSnapshots, auditGrants statement
}

// named returns where the statement of each file goes.
func (q *queries) named() map[string]*statement {
	return map[string]*statement{
		"lock_schema": &q.lockSchema, "unlock_schema": &q.unlockSchema, "schema_version": &q.schemaVersion,
		"schema_exists": &q.schemaExists, "create_schema": &q.createSchema, "session": &q.session, "now": &q.now,
		"share_generation": &q.shareGeneration, "lock_generation": &q.lockGeneration, "generation": &q.generation,
		"set_generation": &q.setGeneration, "generation_used": &q.generationUsed, "add_generation": &q.addGeneration,
		"share_hold": &q.shareHold, "lock_hold": &q.lockHold, "hold": &q.hold, "set_hold": &q.setHold,
		"put_families": &q.putFamilies, "put_lines": &q.putLines, "put_members": &q.putMembers, "put_apps": &q.putApps,
		"families": &q.families, "lines": &q.lines, "apps": &q.apps, "counts": &q.counts,
		"end_member": &q.endMember, "add_member": &q.addMember, "history": &q.history,
		"members_in": &q.membersIn, "families_in": &q.familiesIn, "next_families": &q.nextFamilies, "next_lines": &q.nextLines,
		"policy_version": &q.policyVersion, "add_policy": &q.addPolicy, "policies": &q.policies,
		"lock_line": &q.lockLine, "lock_family": &q.lockFamily,
		"page_lines": &q.pageLines, "page_families": &q.pageFamilies,
		"grant": &q.grant, "owner_grants": &q.ownerGrants, "add_grants": &q.addGrants, "unconfirmed": &q.unconfirmed,
		"confirm_grants": &q.confirmGrants, "grants_by_id": &q.grantsByID,
		"set_purged": &q.setPurged, "purge_lines": &q.purgeLines, "purgeable": &q.purgeable, "purge": &q.purge,
		"append": &q.append, "look_up": &q.lookUp, "changes": &q.changes,
		"new_fold": &q.newFold, "take_unfolded": &q.takeUnfolded, "raise_totals": &q.raiseTotals, "raise_snapshots": &q.raiseSnapshots,
		"raise_folded": &q.raiseFolded, "stamp": &q.stamp, "count_fold": &q.countFold, "end_fold": &q.endFold, "folds": &q.folds,
		"line_grants": &q.lineGrants, "family_grants": &q.familyGrants, "line_snapshots": &q.lineSnapshots,
		"family_snapshots": &q.familySnapshots, "line_totals": &q.lineTotals, "unfolded": &q.unfolded, "recent": &q.recent,
		"put_inbox": &q.putInbox, "take_inbox": &q.takeInbox, "lease_inbox": &q.leaseInbox, "done_inbox": &q.doneInbox, "count_inbox": &q.countInbox,
		"audit_usage": &q.auditUsage, "audit_totals": &q.auditTotals, "audit_months": &q.auditMonths,
		"audit_snapshots": &q.auditSnapshots, "audit_grants": &q.auditGrants,
	}
}

func newQueries(e engine) (*queries, error) {
	q := &queries{}
	for name, to := range q.named() {
		text, err := fs.ReadFile(e.files(), name+".sql")
		if err != nil {
			return nil, fmt.Errorf("%v: %w", e, err)
		}
		to.text, to.order = e.form(withoutComments(string(text)))
	}
	return q, nil
}
