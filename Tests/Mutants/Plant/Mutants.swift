extension Mutant {
    private static let subscription = "Gateway/SubscriptionStateMachine.swift"
    private static let held = "Gateway/HeldFrames.swift"
    private static let epochs = "Gateway/EpochHistory.swift"
    private static let counter = "Gateway/Uploads/UploadCounter.swift"
    private static let decision = "Gateway/Uploads/UploadDecision.swift"
    private static let run = "Gateway/Uploads/ChangesetRun.swift"
    private static let plan = "Gateway/Uploads/WritePlan.swift"
    private static let conflicts = "Conflicts/ConflictRules.swift"
    private static let rules = "Conflicts/UpdateRules.swift"
    private static let clocks = "Conflicts/FieldClocks.swift"
    private static let downloads = "Device/DevicePartition+Downloads.swift"
    private static let forks = "Device/DevicePartition+Fork.swift"
    private static let opening = "Device/DevicePartition+Subscription.swift"
    private static let uploads = "Device/DevicePartition+Uploads.swift"
    private static let lease = "Gateway/Grants/ServingLease.swift"
    private static let standing = "Gateway/Grants/StandingGrant.swift"
    private static let followers = "Gateway/Grants/GrantFollowers.swift"
    private static let feed = "Gateway/FeedAssembly.swift"
    private static let heads = "Gateway/MissedHeads.swift"
    private static let relay = "Relay/RelayState.swift"

    /// Decides whether a write wins.
    private static let comparison =
        "hasSeen(clock) || (stamp.time, ExactText(stamp.author)) > (clock.time, ExactText(clock.author))"

    /// Every one of them has to be found.
    static let all = sent + resumed + decided + merged + onDevices + granted + published + ofRealm

    /// What a gateway sends.
    private static let sent = [
        Mutant("gap-in-feed-not-seen", subscription, "frame.from <= cursor", becomes: "true"),
        Mutant("frames-sent-again", subscription, "frame.to > cursor", becomes: "true"),
        Mutant(
            "slow-reader-has-no-bound", subscription, "queued + frame.byteCount <= window || queued == 0",
            becomes: "true"),
        Mutant(
            "chunks-have-no-bound", subscription, "queued <= window", in: "catchUp.isReading = queued <= window",
            becomes: "true"),
        Mutant("caught-up-while-suspended", subscription, "isSuspended || queued > window", becomes: "queued > window"),
        Mutant("catch-up-ignores-queue", subscription, "isSuspended || queued > window", becomes: "isSuspended"),
        Mutant("live-while-suspended", subscription, omits: "lag()", in: "case .live: lag()\n"),
        Mutant(
            "read-before-suspension-sent", subscription, omits: "givenUpReads += 1",
            in: "if catchUp.isReading { givenUpReads += 1 }"),
        Mutant(
            "not-resumed", subscription, omits: "return catchUp(queued: queued)",
            in: "if case .lagging = state { return catchUp(queued: queued) }"),
        Mutant(
            "sent-after-revocation", subscription, omits: "state = .closed",
            in: "state = .closed\n        access = .none"),
        Mutant("revocation-not-told", subscription, "[.detach, .sendRevoked(reason: reason)]", becomes: "[.detach]"),
        Mutant("epoch-of-chunk-not-checked", subscription, "chunk.epoch == epoch", becomes: "true"),
        Mutant(
            "tombstones-dropped-during-catch-up", subscription,
            "origin.isComplete(after: chunk.from, dropped: chunk.tombstoneHorizon)", becomes: "true"),
        Mutant("frame-of-lost-epoch-sent", subscription, "frame.to.epoch >= epoch", becomes: "true"),
        Mutant("cursor-left-behind", subscription, omits: "cursor = chunk.to"),
        Mutant("chunk-is-always-last", "Gateway/LiveFrame.swift", "to >= head", becomes: "true"),
        Mutant(
            "dropped-frames-forgotten", held,
            "following.isEmpty && (last.map { $0 > revision } ?? false) ? nil : following", becomes: "following"),
    ]

    /// Where a device is served from.
    private static let resumed = [
        Mutant("checkpoint-of-lost-epoch", epochs, "checkpoint.number <= $0.value", becomes: "true"),
        Mutant("catch-up-continued-across-restore", epochs, "token.epoch == current", becomes: "true"),
        Mutant(
            "tombstones-forgotten", epochs, "shown.isComplete(after: checkpoint, dropped: tombstoneHorizon)",
            becomes: "true"),
        Mutant(
            "tombstones-forgotten-by-token", epochs,
            "staged.isComplete(after: token.revision, dropped: tombstoneHorizon)", becomes: "true"),
        Mutant(
            "start-needs-dropped-tombstones", epochs, "head", in: "revision: Self.beginning, horizon: head",
            becomes: "Self.beginning"),
        Mutant(
            "deletions-during-a-first-catch-up-forgotten", subscription, "origin.horizon",
            in: "revision: cursor, horizon: origin.horizon",
            becomes: "origin.revision.number == 0 ? Revision(epoch: .max, number: .max) : origin.horizon"),
    ]

    /// How uploads are decided.
    private static let decided = [
        Mutant(
            "clone-taken-for-repetition", counter, "entry.digest == upload.digest ? .again(entry) : .foreign",
            becomes: ".again(entry)"),
        Mutant(
            "versions-may-have-gaps", counter, "version == lastVersion + 1",
            in: "return version == lastVersion + 1 ? .next", becomes: "true"),
        Mutant(
            "wrong-entry-compared", counter, "Int64(all.count) - 1 - (lastVersion - version)",
            becomes: "Int64(all.count) - 2 - (lastVersion - version)"),
        Mutant("entries-forgotten-early", counter, "Self.kept - added.count", becomes: "1 - added.count"),
        Mutant(
            "renumbered-taken-for-new", counter,
            "version == lastVersion + 1 && !isClosed ? .renumbered(entry) : .again(entry)",
            becomes: "version == lastVersion + 1 && !isClosed ? .next : .again(entry)"),
        Mutant(
            "renumbered-takes-no-number", counter,
            "version == lastVersion + 1 && !isClosed ? .renumbered(entry) : .again(entry)", becomes: ".again(entry)"),
        Mutant(
            "other-number-taken-for-fork", counter,
            "version == lastVersion + 1 && !isClosed ? .renumbered(entry) : .again(entry)",
            becomes: "version > lastVersion ? .renumbered(entry) : version == earlier ? .again(entry) : .foreign"),
        Mutant(
            "undecided-is-rejected", decision,
            omits: "if undecided.contains(grant) { return drafts[index] = .done(.undecided(upload.partition)) }"),
        Mutant(
            "right-not-asked", decision, "mayWrite[grant] != true",
            becomes: "false"),
        Mutant(
            "rejection-not-counted", decision,
            omits: """
                counter.add(
                            .init(digest: digest, revision: head(of: upload.partition)), schemaVersion: upload.schemaVersion)
                """),
        Mutant("rejection-not-stored", decision, omits: "newOutcomes.append((upload, .rejected(rejection)))"),
        Mutant(
            "ack-is-early", decision, "head.number - plan.back(ordinal, in: partition)",
            becomes: "head.number - plan.back(ordinal, in: partition) - 1"),
        Mutant(
            "ack-is-late", decision, "head.number - plan.back(ordinal, in: partition)",
            becomes: "head.number - plan.back(ordinal, in: partition) + 1000"),
        Mutant(
            "right-at-target-not-asked", run, "mayWrite[grant] == true",
            becomes: "true"),
        Mutant(
            "schema-not-checked", run,
            omits: "throw .rejected(.init(code: .schemaViolation, reason: violation.reason, path: violation.path))"),
        Mutant(
            "rejected-changeset-applied-in-part", run, "document.isChanged",
            in: "guard let document = documents[key], document.isChanged, document.existed",
            becomes: "order.first == key"),
        Mutant("origin-lost", run, "upload.origin", becomes: "nil"),
        Mutant(
            "document-of-other-partition-taken", run, "current.map { $0.partition == upload.partition } ?? false",
            becomes: "current != nil"),
        Mutant(
            "move-leaves-no-tombstone", plan, "!before.partition.text.hasSameBytes(as: partition.text)",
            becomes: "false"),
    ]

    /// How writes merge.
    private static let merged = [
        Mutant(
            "incarnation-not-compared", conflicts,
            "operation.incarnation == nil || operation.incarnation == stored.incarnation", becomes: "true"),
        Mutant(
            "what-was-seen-not-asked", rules, comparison,
            becomes: "(stamp.time, ExactText(stamp.author)) > (clock.time, ExactText(clock.author))"),
        Mutant("later-clock-loses", rules, comparison, becomes: "hasSeen(clock)"),
        Mutant("every-write-wins", rules, comparison, becomes: "true"),
        Mutant("author-breaks-no-tie", rules, comparison, becomes: "hasSeen(clock) || stamp.time >= clock.time"),
        Mutant(
            "own-writes-not-seen", rules,
            "clock.author.hasSameBytes(as: stamp.author) || base.map { $0 >= clock.revision } ?? false",
            becomes: "base.map { $0 >= clock.revision } ?? false"),
        Mutant(
            "seen-is-off-by-one", rules,
            "clock.author.hasSameBytes(as: stamp.author) || base.map { $0 >= clock.revision } ?? false",
            becomes: "clock.author.hasSameBytes(as: stamp.author) || base.map { $0 > clock.revision } ?? false"),
        Mutant("present-value-raises-no-clock", rules, "plan.writes.contains(where: isLater)", becomes: "false"),
        Mutant(
            "device-clock-goes-back", "Time/HybridClock.swift",
            "max(HybridTime(milliseconds: milliseconds), HybridTime(bits: latest.bits + 1))",
            becomes: "HybridTime(milliseconds: milliseconds)"),
        Mutant(
            "future-clock-wins", "Time/ClockCorrection.swift",
            "min(HybridTime(milliseconds: milliseconds, counter: clock.counter), now)",
            becomes: "HybridTime(milliseconds: milliseconds, counter: clock.counter)"),
        Mutant(
            "offset-not-corrected", "Time/ClockCorrection.swift", "clock.milliseconds + offset",
            becomes: "clock.milliseconds"),
    ]

    /// What a device does.
    private static let onDevices = [
        Mutant("staged-not-cleared", downloads, omits: "effects.append(.clearStaged)"),
        Mutant(
            "replacement-keeps-old", downloads, "isReplacing",
            in: "effects.append(.publishStaged(replacing: isReplacing))", becomes: "false"),
        Mutant(
            "own-frame-not-recognized", downloads, omits: "containedVersion = max(containedVersion, origin.version)"),
        Mutant(
            "contained-before-final", downloads, "max(containedVersion, stagedVersion)", becomes: "containedVersion"),
        Mutant("acknowledged-is-shown-too-short", downloads, "revision <= checkpoint", becomes: "true"),
        Mutant("acknowledged-not-retained", downloads, omits: "effects.append(.retain(pending.changeset))"),
        Mutant("unanswered-is-dropped", downloads, omits: "if pending.isUnresolved { return true }"),
        Mutant(
            "fork-repeats-acknowledged", forks, "all[index].isUnresolved", in: "if all[index].isUnresolved {",
            becomes: "true"),
        Mutant(
            "fork-before-answers", forks,
            "!pending.contains {\n            $0.state == .sent || $0.state == .waiting && (isClosed || $0.changeset.version <= serverVersion)\n        }",
            becomes: "true"),
        Mutant(
            "retained-not-offered", opening, "retained.map { PendingChangeset(changeset: $0, isContained: true) }",
            becomes: "[]"),
        Mutant(
            "acknowledged-not-offered-again", opening, omits: "pending.state = .waiting",
            in: "pending.state = .waiting\n                isOffering = true"),
        Mutant("gap-not-renumbered", opening, omits: "renumber(after: lastVersion)"),
        Mutant(
            "unanswered-not-sent-again", opening, omits: "$0.state = .waiting",
            in: "$0.state = .waiting\n            return true"),
        Mutant("seen-revision-not-sent", uploads, "server?.revision", becomes: "nil"),
        Mutant("rejected-stays-pending", uploads, "pending.remove(at: index)", becomes: "pending[index]"),
    ]

    /// How gateways serve by grants, and stop.
    private static let granted = [
        Mutant(
            "grant-not-asked-in-commit", decision,
            omits: "requiredGrants.insert(.init(partition: upload.partition, user: upload.user))"),
        Mutant(
            "revocation-of-follower-not-heard", standing, "self.version != nil || access == .none", becomes: "false"),
        Mutant("late-grant-believed", standing, "self.version != nil || access == .none", becomes: "true"),
        Mutant(
            "older-grant-taken", standing, "version < known",
            in: "if let known = self.version, version < known { return false }",
            becomes: "false"),
        Mutant(
            "end-of-shared-grant-not-heard", standing, "access == .none", in: "if access == .none { return .lapsed }",
            becomes: "false"),
        Mutant(
            "own-grant-behind-shared-not-heard", standing, "version.number > 0",
            in: "version.number > 0 ? .lapsed : .none",
            becomes: "false"),
        Mutant(
            "shared-grant-over-own", standing, "!self.isForEveryone || version <= known", becomes: "version <= known"),
        Mutant("lease-not-asked", standing, "leaseIsValid", in: "{ leaseIsValid &&", becomes: "true"),
        Mutant(
            "expiry-not-heeded", standing, "expiry.map { $0 > now } ?? true",
            in: "{ leaseIsValid && expiry.map { $0 > now } ?? true }", becomes: "true"),
        Mutant("expiry-forgotten", standing, omits: "expiry = expires"),
        Mutant(
            "heartbeat-before-fence-counts", lease, "$0.fence < oldestFence", becomes: "$0.fence < .max"),
        Mutant(
            "fence-not-waited-for", lease, omits: "source.openFences.insert(source.lastFence)"),
        Mutant("age-of-heartbeat-not-counted", lease, "max(wallTime - sentAt, 0)", becomes: "0"),
        Mutant(
            "one-heartbeat-is-enough", lease, "min($0, $1.deadline)",
            becomes: "max($1.deadline, $0 == registered ? .zero : $0)"),
        Mutant("fence-answered-by-first-follower", followers, "left == 0", becomes: "true"),
        Mutant("follower-not-found", followers, "observers[key].map { Array($0.values) } ?? []", becomes: "[]"),
    ]

    /// How changes reach the gateways.
    private static let published = [
        Mutant(
            "gap-between-messages-not-seen", feed, "revision.epoch != last.epoch || revision.number != last.number + 1",
            becomes: "false"),
        Mutant("head-ignored", feed, omits: "runs.append(.announcement(revision))"),
        Mutant("part-of-commit-sent", feed, "!continues", becomes: "size >= 0"),
        Mutant("unfinished-commit-in-later-frame", feed, "Int64(whole)", becomes: "Int64(held.count)"),
        Mutant(
            "own-commit-before-those-of-others", feed, "ahead.removeValue(forKey: made)",
            becomes: "ahead.popFirst()?.value"),
        Mutant("missed-head-ignored", heads, omits: "unseen = next"),
        Mutant("marked-without-acknowledgement", relay, "!isAcknowledged(index)", becomes: "false"),
        Mutant(
            "unacknowledged-is-skipped", relay, "!stopped.contains(message.partition)", becomes: "isAcknowledged(index)"
        ),
        Mutant("head-not-published", relay, omits: "active.insert(partition)"),
        Mutant(
            "mark-not-written", relay, omits: "unmarked.insert(partition)",
            in: "unmarked.insert(partition)\n                active"),
    ]
}
