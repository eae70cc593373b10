extension Mutant {
    private static let session = "Session/SessionStateMachine.swift"
    private static let sessionDownloads = "Session/SessionStateMachine+Downloads.swift"
    private static let merge = "Server/UploadMerge.swift"
    private static let plannedUploads = "Server/PlannedUploads.swift"
    private static let uploadPlan = "Server/UploadPlan.swift"
    private static let addition = "Server/HistoryAddition.swift"
    private static let file = "Server/ClientFile.swift"
    private static let update = "Server/HistoryUpdate.swift"
    private static let entry = "Server/HistoryEntry.swift"
    private static let tail = "Server/HistoryTail.swift"
    private static let memory = "Server/HistoryMemory.swift"
    private static let view = "Server/HistoryView.swift"
    private static let history = "History/ServerHistory.swift"
    private static let realm = "RealmSync"

    /// What serves clients of the Realm SDKs.
    static let ofRealm = sessions + uploads + updates + remembered

    private static let sessions = [
        Mutant("realm-early-ident-lost", of: realm, session, omits: "early = frame"),
        Mutant(
            "realm-salt-not-checked", of: realm, session,
            "salts[Int64(frame.latestServerVersion)] == Int64(clamping: frame.latestServerVersionSalt)", becomes: "true"
        ),
        Mutant(
            "realm-file-of-another", of: realm, session, "UInt64(file.salt) == frame.fileIdentSalt", becomes: "true"),
        Mutant(
            "realm-sent-while-suspended", of: realm, sessionDownloads, "now.mayServe",
            in: "guard isActive, let file, now.mayServe else", becomes: "true"),
        Mutant(
            "realm-slow-reader-has-no-bound", of: realm, session, "now.hasRoom",
            in: "if now.mayServe, now.hasRoom { actions", becomes: "true"),
        Mutant("realm-mark-of-later-answered", of: realm, session, "marks.prefix(answering)", becomes: "marks[...]"),
        Mutant(
            "realm-mark-before-the-end", of: realm, sessionDownloads, "downloaded.version == standing.version",
            becomes: "true"),
        Mutant("realm-marks-not-counted", of: realm, session, omits: "answering = marks.count"),
        Mutant(
            "realm-acknowledged-ahead", of: realm, file, "version >= uploaded", becomes: "true"),
        Mutant(
            "realm-not-woken", of: realm, session, omits: "isStale = true",
            in: "guard phase == .active else { return [] }\n        isStale = true"),
        Mutant(
            "realm-two-works", of: realm, session, "!isWorking", in: "phase == .active, !isWorking", becomes: "true"),
        Mutant("realm-may-never-write", of: realm, session, omits: "self.mayWrite = mayWrite"),
        Mutant(
            "realm-goes-on-when-revoked", of: realm, session, "mayRead", in: "if mayRead { return", becomes: "true"),
        Mutant(
            "realm-parts-of-two-histories", of: realm, sessionDownloads,
            "downloaded.salt ?? part.previous == part.previous", becomes: "true"),
        Mutant(
            "realm-own-changes-sent", of: realm, history, "entry.fileIdent == ident",
            in: "if entry.fileIdent == ident {", becomes: "false"),
        Mutant(
            "realm-own-changes-not-counted", of: realm, history, omits: "download.clientVersion = entry.clientVersion"),
        Mutant(
            "realm-refusal-not-told", of: realm, sessionDownloads, "$0.audience == file.number", becomes: "false"),
        Mutant("realm-undone-for-all", of: realm, entry, "audience.map { $0 != file } ?? false", becomes: "false"),
    ]

    private static let uploads = [
        Mutant(
            "realm-gap-in-uploads", of: realm, merge, "file.clientVersion >= upload.former", becomes: "true"),
        Mutant(
            "realm-position-not-checked", of: realm, merge,
            "salt == (place < 0 ? part.previous : stored[place].salt)", becomes: "true"),
        Mutant(
            "realm-reciprocals-lost", of: realm, merge,
            omits: "reciprocals = forms.all.filter { known[$0.key] != $0.value }"),
        Mutant(
            "realm-additions-lost", of: realm, merge,
            omits: "additions = try lostAdditions(to: entries).map { ($0, try $0.objects()) }"),
        Mutant(
            "realm-others-not-merged", of: realm, history, "others.isDisjoint(with: objects)", becomes: "true"),
        Mutant(
            "realm-planned-not-merged", of: realm, merge, "stored + planned.entries", becomes: "stored"),
        Mutant(
            "realm-planned-not-seen", of: realm, uploadPlan,
            omits: "for key in keys { if let change = merge.planned.objects[key] { stored[key] = change.object } }"),
        Mutant(
            "realm-assumption-not-proven", of: realm, plannedUploads, "objects[$0]?.object != nil", becomes: "true"),
        Mutant("realm-refused-not-undone", of: realm, uploadPlan, omits: "try undoRefused(at: now)"),
        Mutant(
            "realm-refused-sent-to-others", of: realm, uploadPlan, "refusal != nil",
            in: "keys.isEmpty || refusal != nil ? []", becomes: "false"),
        Mutant("realm-partition-key-not-set", of: realm, uploadPlan, omits: "setPartitionKeys(of: keys, at: now)"),
        Mutant(
            "realm-absorbed-objects-not-noted", of: realm, addition,
            omits: "for (key, object) in changes { self.objects[key] = .some(object) }"),
        Mutant("realm-absorbed-salt-not-noted", of: realm, addition, omits: "standing.salt = entry.salt"),
    ]

    private static let updates = [
        Mutant(
            "realm-collections-not-compared", of: realm, update,
            omits: "next.revision = HistoryStanding.empty.revision",
            in:
                "// What was done to their documents before may be in no history: all that there is is compared.\n            next.revision = HistoryStanding.empty.revision"
        ),
        Mutant(
            "realm-other-classes-go-on", of: realm, update, "joined == nil", in: "isReset: joined == nil",
            becomes: "false"),
        Mutant("realm-app-version-not-noted", of: realm, update, omits: "next.appVersion = version"),
        Mutant("realm-new-base-not-noted", of: realm, update, omits: "next.base = former.version + 1"),
        Mutant("realm-new-classes-not-noted", of: realm, update, omits: "next.schema = changeset.encoded()"),
    ]

    private static let remembered = [
        Mutant("realm-old-standing", of: realm, tail, "answered >= request", becomes: "true"),
        Mutant(
            "realm-heads-not-heard", of: realm, tail, "standing.revision >= revision", becomes: "true"),
        Mutant(
            "realm-tail-follows-anything", of: realm, tail,
            "first.version != (end ?? 0) + 1 || entries.last?.salt != new.previous", becomes: "false"),
        Mutant("realm-objects-of-another-version", of: realm, memory, "salt == self.salt", becomes: "true"),
        Mutant(
            "realm-forms-of-nothing", of: realm, memory, "entries.allSatisfy({ $0.file == file.number })",
            becomes: "true"),
        Mutant("realm-objects-kept-behind-others", of: realm, memory, "former != self.salt", becomes: "false"),
        Mutant(
            "realm-race-not-forgotten", of: realm, view, omits: "memory = HistoryMemory()",
            in: "package mutating func forget() {\n        memory = HistoryMemory()"),
    ]
}
