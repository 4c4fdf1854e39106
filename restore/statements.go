package restore

import (
	"embed"

	"github.com/reprise-dev/reprise/internal/database"
)

//go:embed postgres mysql
var files embed.FS

// statements are the SQL of the sessions: one file each. Arguments are numbered, and what each file says on
// top is true of both engines.
type statements struct {
	session, lockSession, lastSession, lockLastSession, addSession     database.Statement
	takeSession, beatSession, leaveSession, troubleSession             database.Statement
	stepSession, endSession, loseSession, setGeneration                database.Statement
	fenceSession, unfenceSession                                       database.Statement
	pauseSession, paceSession, cancelSession                           database.Statement
	putPhase, phases, listPhase, growPhase                             database.Statement
	beginPhase, endPhase                                               database.Statement
	putTargets, claimTargets, leaseTargets, renewTargets               database.Statement
	markTargets, giveBack, targetBounds, voidTargets                   database.Statement
	againTargets, openTargets, countTargets                            database.Statement
	releaseTargets, tryTarget, lockTarget, deleteTarget, failedTargets database.Statement
	putFindings, openFindings, findings, settleFinding                 database.Statement
	countFindings, addEvent, events                                    database.Statement
	keepFinding, corrections, undoFinding, voidFindings                database.Statement
}

func (s *statements) kit() database.Kit {
	return database.Kit{
		Name: "the restore", Migrate: "reprise migrate up --ledger", Versions: "restore_schema", Files: files,
		Statements: map[string]*database.Statement{
			"session": &s.session, "lock_session": &s.lockSession, "last_session": &s.lastSession, "lock_last_session": &s.lockLastSession, "add_session": &s.addSession,
			"take_session": &s.takeSession, "beat_session": &s.beatSession, "leave_session": &s.leaveSession, "trouble_session": &s.troubleSession,
			"step_session": &s.stepSession, "end_session": &s.endSession, "lose_session": &s.loseSession, "set_generation": &s.setGeneration,
			"fence_session": &s.fenceSession, "unfence_session": &s.unfenceSession,
			"pause_session": &s.pauseSession, "pace_session": &s.paceSession, "cancel_session": &s.cancelSession,
			"put_phase": &s.putPhase, "phases": &s.phases, "list_phase": &s.listPhase, "grow_phase": &s.growPhase,
			"begin_phase": &s.beginPhase, "end_phase": &s.endPhase,
			"put_targets": &s.putTargets, "claim_targets": &s.claimTargets, "lease_targets": &s.leaseTargets, "renew_targets": &s.renewTargets,
			"mark_targets": &s.markTargets, "give_back": &s.giveBack, "target_bounds": &s.targetBounds, "void_targets": &s.voidTargets,
			"again_targets": &s.againTargets, "open_targets": &s.openTargets, "count_targets": &s.countTargets,
			"release_targets": &s.releaseTargets, "try_target": &s.tryTarget, "lock_target": &s.lockTarget, "delete_target": &s.deleteTarget, "failed_targets": &s.failedTargets,
			"put_findings": &s.putFindings, "open_findings": &s.openFindings, "findings": &s.findings, "settle_finding": &s.settleFinding,
			"count_findings": &s.countFindings, "add_event": &s.addEvent, "events": &s.events,
			"keep_finding": &s.keepFinding, "corrections": &s.corrections, "undo_finding": &s.undoFinding, "void_findings": &s.voidFindings,
		},
	}
}
