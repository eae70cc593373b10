extension SessionStateMachine {
    /// The bytes of uploads that are integrated together.
    private static let batchBytes = 1 << 20

    /// Takes the uploads that wait, or the first of them, to be integrated together.
    mutating func takeUploads() -> [Action] {
        guard let file else { return [] }
        var frames: [UploadFrame] = [], bytes = 0
        while let next = uploads.first, frames.isEmpty || bytes + next.body.size <= Self.batchBytes {
            bytes += next.body.size
            frames.append(uploads.removeFirst())
        }
        guard let last = frames.last else { return [] }
        guard frames.allSatisfy({ $0.progressServerVersion <= UInt64(downloaded.version) }) else {
            ending = RealmRefusal.reset(.badServerVersion, "the client has versions that it wasn't sent").error
            return [.release(bytes: bytes)]
        }
        let reached = Int64(last.progressServerVersion)
        var changesets: [UploadedChangeset] = []
        do throws(FrameError) {
            for frame in frames { changesets += try frame.changesets() }
        } catch {
            ending = RealmRefusal.reset(.badChangeset, error.message).error
            return [.release(bytes: bytes)]
        }
        if changesets.isEmpty { return noteSoon(reached) + [.release(bytes: bytes)] }
        self.reached = reached
        let upload = RealmUpload(
            changesets: changesets, scanned: Int64(clamping: last.progressClientVersion), reached: reached,
            acknowledged: Int64(acknowledged), file: file.number, salt: file.salt, user: user, position: downloaded,
            former: Int64(integrated.client), mayWrite: mayWrite)
        return [begin(.integrate(upload, bytes: bytes))]
    }

    /// An upload was integrated, or a part of it.
    /// - Parameter failure: Why the rest of it wasn't; it ends the session.
    package mutating func integrated(
        _ integration: RealmUpload.Integration, failure: SessionError?, _ now: Circumstances
    ) -> [Action] {
        guard isActive else { return [] }
        if integration.clientVersion > 0 {
            integrated.client = max(integrated.client, UInt64(integration.clientVersion))
            integrated.base = max(integrated.base, UInt64(integration.uploadBase))
        }
        ending = failure
        return (failure == nil ? noteSoon(reached) : []) + continues(now)
    }
}
