import DocumentModel
import RealmSync

extension RealmSimulation {
    /// Does the next part of the integration of uploads: takes some that wait and merges them, reads their objects, commits them.
    @discardableResult
    mutating func integrate(_ gateway: Int) -> Bool {
        guard var integration = gateways[gateway].integration else { return beginIntegration(gateway) }
        do {
            if let merge = integration.merge {
                integration.merge = nil
                try plan(merge, &integration, gateway)
                gateways[gateway].integration = integration
            } else {
                try commit(integration, gateway)
                gateways[gateway].integration = nil
            }
        } catch {
            gateways[gateway].integration = nil
            end(integration, with: error, gateway)
        }
        return true
    }

    private mutating func beginIntegration(_ gateway: Int) -> Bool {
        var numbers: [Int] = [], uploads: [RealmUpload] = [], hasFailed = false
        for number in gateways[gateway].numbers {
            guard case .integrate(let upload, let isAlone) = gateways[gateway].sessions[number]?.job else { continue }
            if uploads.contains(where: { $0.file == upload.file || !$0.mayWrite }) { continue }
            if !uploads.isEmpty, isAlone || !upload.mayWrite { continue }
            numbers.append(number)
            uploads.append(upload)
            hasFailed = isAlone
            if isAlone { break }
        }
        if uploads.isEmpty { return false }
        if uploads.count > 1 { note(.together) }
        let app = gateways[gateway].app
        let known = gateways[gateway].view.tail.current.flatMap { $0.appVersion == app.version ? $0 : nil }
        guard let standing = known ?? absorb(gateway) else { return false }
        var integration = SimulatedRealmGateway.Integration(
            sessions: numbers, uploads: uploads, planned: PlannedUploads(after: standing),
            request: gateways[gateway].view.tail.lastRequest)
        integration.assumesNew = !hasFailed
        integration.refusal = uploads[0].mayWrite ? nil : "the user may not write in the partition"
        do {
            integration.merge = try merge(uploads[0], after: integration.planned, gateway)
            gateways[gateway].integration = integration
        } catch { end(integration, with: error, gateway) }
        return true
    }

    private mutating func merge(
        _ upload: RealmUpload, after planned: PlannedUploads, _ gateway: Int
    ) throws -> UploadMerge {
        guard let file = file(upload.file, gateway) else {
            throw RealmRefusal.reset(.badClientFileIdent, "the server doesn't know the client's file")
        }
        if let first = upload.changesets.first, first.clientVersion <= UInt64(file.clientVersion) {
            note(.uploadedAgain)
        }
        var merge = try UploadMerge(upload, of: file, after: planned)
        guard let base = merge.base else { return merge }
        let isInSnapshot = file.snapshot.map { base < $0.version } ?? false
        let known =
            isInSnapshot
            ? nil : gateways[gateway].view.tail.entries(after: base, upTo: planned.standing)
        let entries = known ?? database.entries(after: base, for: file)
        try merge.merge(entries, reciprocals: forms(of: entries.entries, after: base, for: file, gateway))
        return merge
    }

    private mutating func forms(
        of entries: [HistoryEntry], after base: Int64, for file: ClientFile, _ gateway: Int
    ) -> [UInt64: [UInt8]] {
        if let known = gateways[gateway].view.memory.forms(of: entries, after: base, for: file) { return known }
        let forms = (database.reciprocals[file.number] ?? [:]).filter { $0.key > UInt64(base) }
        gateways[gateway].view.memory.keep(EntryForms(of: file, after: base, forms, entries), of: file)
        return forms
    }

    /// Plans the first upload, and merges and plans the others.
    private mutating func plan(
        _ merge: UploadMerge, _ integration: inout SimulatedRealmGateway.Integration, _ gateway: Int
    ) throws {
        var merge = merge
        for place in integration.uploads.indices {
            if place > 0 { merge = try self.merge(integration.uploads[place], after: integration.planned, gateway) }
            let standing = integration.planned.standing, app = gateways[gateway].app
            guard app.version == standing.appVersion else { throw RealmRefusal.busy }
            // What is remembered is bounded.
            let remembers = !integration.isOrphan && Bool.random(using: &generator)
            var found = remembers ? gateways[gateway].view.memory.objects(merge.needed, at: standing.salt) : [:]
            var assumed: Set<ObjectKey> = []
            if integration.assumesNew, integration.refusal == nil {
                assumed = try merge.created.filter { found[$0] == nil }
                if assumed.contains(where: { database.documents[$0] != nil }) { note(.tookForNew) }
            }
            let missing = merge.needed.subtracting(assumed).filter { found[$0] == nil }
            if !missing.isEmpty {
                guard database.standing.salt == standing.salt else { throw RealmRefusal.busy }
                let new = Dictionary(uniqueKeysWithValues: missing.map { ($0, database.objects[$0]) })
                found.merge(new) { $1 }
                if !integration.isOrphan { gateways[gateway].view.memory.keep(new, at: standing.salt) }
            }
            integration.planned.append(
                try UploadPlan(
                    merge, to: found.compactMapValues(\.self), assuming: assumed,
                    try ObjectSchema(made: try Changeset(standing.schema)),
                    app.target, unfit: [:], refusal: integration.refusal, at: time))
        }
    }

    private mutating func commit(_ integration: SimulatedRealmGateway.Integration, _ gateway: Int) throws {
        let planned = integration.planned
        guard planned.provesAssumptions else { throw SimulatedHistory.CommitError.duplicate }
        if !planned.entries.isEmpty {
            let written = planned.objects.filter { key, change in
                database.schema.write(key, from: change.former, to: change.object) != nil
            }.sorted { $0.key.place < $1.key.place }
            let addition = planned.addition(writing: written.map { ($0.key.table, $0.key.idText) })
            let before = database.documents
            if isTraced {
                trace.append("gateway \(gateway) adds \(planned.entries.map(\.version)) of \(integration.sessions)")
            }
            let reached = try database.commit(
                addition, planned.standing, writing: written.map { ($0.key, $0.value.former == nil, $0.value.object) })
            for upload in integration.uploads { checkPosition(of: upload) }
            for (key, change) in written where !same(before[key], change.former) {
                fail("an upload has overwritten \(before[key] ?? [:]), which it took for \(change.former ?? [:])")
            }
            if integration.isOrphan { return }
            gateways[gateway].view.committed(
                addition, after: planned.standing, reaching: reached, request: integration.request)
        }
        for (number, plan) in zip(integration.sessions, planned.plans) {
            var result = RealmUpload.Integration()
            result.take(plan)
            gateways[gateway].sessions[number]?.job = .integrated(result)
        }
    }

    /// What a client uploads that has another history must not count: when it begins anew, it uploads that again.
    private mutating func checkPosition(of upload: RealmUpload) {
        guard let known = upload.position.salt, let file = database.file(upload.file), file.snapshot == nil,
            let entry = database.entries.first(where: { $0.version == upload.position.version })
        else { return }
        if entry.salt != known { fail("an upload of a client with another history counts") }
    }

    private func same(_ a: Document?, _ b: Document?) -> Bool {
        guard let a, let b else { return a == nil && b == nil }
        return a.isIdentical(to: b)
    }

    /// Each is integrated alone then, or once more, or not at all.
    private mutating func end(
        _ integration: SimulatedRealmGateway.Integration, with error: any Error, _ gateway: Int
    ) {
        let hasMoved =
            database.standing.version != integration.planned.standing.version
            || database.standing.salt != integration.planned.standing.salt
            || database.head != integration.planned.standing.revision
        var mayWrite = integration.uploads.first?.mayWrite ?? true, failure: (any Error)?
        if isTraced { trace.append("gateway \(gateway) can't integrate \(integration.sessions): \(error)") }
        switch error {
        case SimulatedHistory.CommitError.lostRace, SimulatedHistory.CommitError.duplicate, RealmRefusal.busy:
            note(.lostRace)
        case SimulatedHistory.CommitError.forbidden: mayWrite = integration.uploads.count > 1
        default: failure = integration.uploads.count > 1 || hasMoved || integration.assumesNew ? nil : error
        }
        if !integration.isOrphan { gateways[gateway].view.forget() }
        for (number, upload) in zip(integration.sessions, integration.uploads) {
            var result = RealmUpload.Integration()
            result.failure = failure
            var again = upload
            again.mayWrite = upload.mayWrite && mayWrite
            gateways[gateway].sessions[number]?.job =
                failure == nil ? .integrate(again, isAlone: true) : .integrated(result)
        }
    }
}
