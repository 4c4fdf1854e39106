package meterledger

import (
	"embed"

	"github.com/reprise-dev/reprise/internal/database"
)

//go:embed postgres mysql
var files embed.FS

// queries are the statements of an engine: one file each. Arguments are numbered, and what each file says on
// top is true of both engines.
type queries struct {
	// Generations, and what waits for a restore.
	shareGeneration, lockGeneration, generation, setGeneration, generationUsed, addGeneration database.Statement
	shareHold, lockHold, hold, setHold, lockFence, setFence                                   database.Statement
	terms, keepCalendar, keepHorizon, setHorizon                                              database.Statement
	// Lines, families, apps.
	putFamilies, putLines, putMembers, putApps     database.Statement
	families, lines, apps, counts                  database.Statement
	endMember, addMember, history                  database.Statement
	membersIn, familiesIn, nextFamilies, nextLines database.Statement
	policyVersion, addPolicy, policies             database.Statement
	lockLine, lockFamily                           database.Statement
	missingLines, missingFamilies                  database.Statement
	lockLines, lockFamilies                        database.Statement
	grant, ownerGrants, addGrants, unconfirmed     database.Statement
	confirmGrants, grantsByID                      database.Statement
	// The done log.
	setPurged, purgeLines, purgeable, purge                                       database.Statement
	append, lookUp, changes                                                       database.Statement
	newFold, nextUnfolded, takeUnfolded, raiseTotals, raiseSnapshots, raiseFolded database.Statement
	stamp, countFold, endFold, folds                                              database.Statement
	lineGrants, familyGrants, lineSnapshots, familySnapshots, lineTotals          database.Statement
	unfolded, recent                                                              database.Statement
	// The inbox.
	putInbox, takeInbox, leaseInbox, doneInbox, countInbox, pageInbox, putMark, deleteMark database.Statement
	// The audit.
	auditUsage, auditTotals, auditPurged, auditSnapshots, auditGrants database.Statement
	expectedKeys, lostChanges, lostMonths                             database.Statement
}

// named returns where the statement of each file goes.
func (q *queries) named() map[string]*database.Statement {
	return map[string]*database.Statement{
		"share_generation": &q.shareGeneration, "lock_generation": &q.lockGeneration, "generation": &q.generation,
		"set_generation": &q.setGeneration, "generation_used": &q.generationUsed, "add_generation": &q.addGeneration,
		"share_hold": &q.shareHold, "lock_hold": &q.lockHold, "hold": &q.hold, "set_hold": &q.setHold, "lock_fence": &q.lockFence, "set_fence": &q.setFence,
		"terms": &q.terms, "keep_calendar": &q.keepCalendar, "keep_horizon": &q.keepHorizon, "set_horizon": &q.setHorizon,
		"put_families": &q.putFamilies, "put_lines": &q.putLines, "put_members": &q.putMembers, "put_apps": &q.putApps,
		"families": &q.families, "lines": &q.lines, "apps": &q.apps, "counts": &q.counts,
		"end_member": &q.endMember, "add_member": &q.addMember, "history": &q.history,
		"members_in": &q.membersIn, "families_in": &q.familiesIn, "next_families": &q.nextFamilies, "next_lines": &q.nextLines,
		"policy_version": &q.policyVersion, "add_policy": &q.addPolicy, "policies": &q.policies,
		"lock_line": &q.lockLine, "lock_family": &q.lockFamily,
		"missing_lines": &q.missingLines, "missing_families": &q.missingFamilies, "lock_lines": &q.lockLines, "lock_families": &q.lockFamilies,
		"grant": &q.grant, "owner_grants": &q.ownerGrants, "add_grants": &q.addGrants, "unconfirmed": &q.unconfirmed,
		"confirm_grants": &q.confirmGrants, "grants_by_id": &q.grantsByID,
		"set_purged": &q.setPurged, "purge_lines": &q.purgeLines, "purgeable": &q.purgeable, "purge": &q.purge,
		"append": &q.append, "look_up": &q.lookUp, "changes": &q.changes,
		"new_fold": &q.newFold, "next_unfolded": &q.nextUnfolded, "take_unfolded": &q.takeUnfolded, "raise_totals": &q.raiseTotals, "raise_snapshots": &q.raiseSnapshots,
		"raise_folded": &q.raiseFolded, "stamp": &q.stamp, "count_fold": &q.countFold, "end_fold": &q.endFold, "folds": &q.folds,
		"line_grants": &q.lineGrants, "family_grants": &q.familyGrants, "line_snapshots": &q.lineSnapshots,
		"family_snapshots": &q.familySnapshots, "line_totals": &q.lineTotals, "unfolded": &q.unfolded, "recent": &q.recent,
		"put_inbox": &q.putInbox, "take_inbox": &q.takeInbox, "lease_inbox": &q.leaseInbox, "done_inbox": &q.doneInbox, "count_inbox": &q.countInbox, "page_inbox": &q.pageInbox, "put_mark": &q.putMark, "delete_mark": &q.deleteMark,
		"audit_usage": &q.auditUsage, "audit_totals": &q.auditTotals, "audit_purged": &q.auditPurged,
		"audit_snapshots": &q.auditSnapshots, "audit_grants": &q.auditGrants,
		"expected_keys": &q.expectedKeys, "lost_changes": &q.lostChanges, "lost_months": &q.lostMonths,
	}
}

// kit is what the ledger keeps in a database.
func (q *queries) kit() database.Kit {
	return database.Kit{Name: "the ledger", Migrate: "reprise migrate up --ledger", Versions: versionsTable, Files: files, Statements: q.named()}
}

// versionsTable is the table in which migrations are noted.
const versionsTable = "meter_schema"
