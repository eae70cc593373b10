extension SessionStateMachine {
    /// The bytes of uploads that are integrated together.
    private static let batchBytes = 1 << 20

    /// Takes the uploads that wait, or the first of them, to be integrated together.
    mutating func takeUploads() -> [Action] {
        guard let file else { return [] }
        var changesets: [UploadedChangeset] = [], bytes = 0, last: UploadFrame?
        while let next = uploads.first, last == nil || bytes + next.body.size <= Self.batchBytes {
            do throws(RealmRefusal) {
                changesets += try read(next)
            } catch {
                // What came before it is integrated first.
                if last != nil { break }
                uploads.removeFirst()
                ending = error.error
                return [.release(bytes: next.body.size)]
            }
            uploads.removeFirst()
            bytes += next.body.size
            last = next
        }
        guard let last else { return [] }
        let reached = Int64(last.progressServerVersion)
        if changesets.isEmpty { return noteSoon(reached) + [.release(bytes: bytes)] }
        self.reached = reached
        let upload = RealmUpload(
            changesets: changesets, scanned: Int64(clamping: last.progressClientVersion), reached: reached,
            acknowledged: Int64(acknowledged), file: file.number, salt: file.salt, user: user, position: downloaded,
            former: Int64(integrated.client), mayWrite: mayWrite)
        return [begin(.integrate(upload, bytes: bytes))]
    }

    private func read(_ frame: UploadFrame) throws(RealmRefusal) -> [UploadedChangeset] {
        guard frame.progressServerVersion <= UInt64(downloaded.version) else {
            throw .reset(.badServerVersion, "the client has versions that it wasn't sent")
        }
        do throws(FrameError) {
            return try frame.changesets()
        } catch {
            throw .reset(.badChangeset, error.message)
        }
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
