extension SessionStateMachine {
    /// From where the client has to be sent the history.
    /// - Returns: the version after which entries are read.
    /// - Throws: ``RealmRefusal`` if the client's state is no state of the history any more.
    package mutating func position(in standing: HistoryStanding) throws(RealmRefusal) -> Int64 {
        guard let file else { throw .busy }
        if downloaded.version == 0 { downloaded.version = file.beginning(of: standing) }
        // What the client was sent beyond a standing makes the history be looked at again: it has gone back, then.
        guard downloaded.version <= standing.version else { throw .anotherHistory }
        guard file.canContinue(after: downloaded.version, in: standing) else {
            throw .reset(.badServerVersion, "the history has begun anew")
        }
        return downloaded.version
    }

    /// What the client doesn't have was read, or a part of it.
    /// - Parameters:
    ///   - part: The entries after the position, as the client's file has them, in their order.
    package mutating func read(
        _ part: HistoryPart, in standing: HistoryStanding, _ now: Circumstances
    ) -> [Action] {
        guard isActive, let file, now.mayServe else { return continues(now) }
        if let refusal = refusal(of: part, in: standing) { return failed(refusal.error) }
        var actions: [Action] = []
        let refused = part.entries.filter { $0.audience == file.number }.flatMap(\.refused)
        if let first = refused.first, !knowsCompensatingWrites { ending = RealmRefusal.undone(first).error }
        // Before the download that undoes them.
        for write in refused where knowsCompensatingWrites {
            var error = SessionError(
                .compensatingWrite, "a write was refused and is undone", action: .warning, triesAgain: true)
            error.compensatingWrite = write
            actions.append(.send(.error(session: number, error)))
        }
        if !part.entries.isEmpty || !hasSent {
            actions.append(.send(.download(download(part, of: file.number))))
        }
        if downloaded.version == standing.version {
            actions += atEnd()
        } else {
            // What was read may also be a part of something newer.
            isStale = true
        }
        return actions + continues(now)
    }

    /// Why entries don't follow what the client has; `nil` if they do.
    private func refusal(of part: HistoryPart, in standing: HistoryStanding) -> RealmRefusal? {
        guard let first = part.entries.first else {
            if standing.version > downloaded.version { return .busy }
            return downloaded.salt ?? standing.salt == standing.salt ? nil : .anotherHistory
        }
        guard first.version == downloaded.version + 1 else {
            return .reset(.clientFileExpired, "the history doesn't reach back to the client's version")
        }
        return downloaded.salt ?? part.previous == part.previous ? nil : .anotherHistory
    }

    /// The client has what it is sent.
    private mutating func download(_ part: HistoryPart, of file: Int64) -> DownloadFrame {
        let entries = part.entries
        let history = ServerHistory(
            baseVersion: UInt64(downloaded.version), entries: entries.map { $0.seen(by: file) }, client: UInt64(file),
            clientVersion: downloadedClientVersion)
        var download = history.download(for: UInt64(file), after: UInt64(downloaded.version), maximumBytes: .max)
        for entry in entries where entry.file == file {
            acknowledged = max(acknowledged, UInt64(max(entry.clientVersion, entry.acknowledges)))
        }
        download.uploadClientVersion = acknowledged
        if let last = entries.last { downloaded = HistoryPosition(version: last.version, salt: last.salt) }
        downloadedClientVersion = download.clientVersion
        hasSent = true
        // The latest version is that of the download, though the history may be longer: so a client that has only a part of it isn't
        // reset when a restored database lacks the rest.
        return DownloadFrame(
            session: number, changesets: download, latestServerVersion: UInt64(downloaded.version),
            latestServerVersionSalt: UInt64(downloaded.salt ?? 0), uploadServerVersion: integrated.base,
            downloadableBytes: UInt64(part.remaining))
    }
}
