import DocumentModel
import Foundation
import SyncEngine
import SyncProtocol

extension SyncClient {
    /// Handles a frame of the current connection.
    func take(_ frame: GatewayFrame, number: Int) throws {
        switch frame {
        case .welcome, .pong: break
        case .subscribed(let subscribed): try take(subscribed)
        case .access(let partition, let access):
            try step(partition) { bookkeeping in
                bookkeeping.accessChanged(to: access)
                return []
            }
        case .ack(let ack):
            uploads.answered(ack.partition, ack.version)
            trial.answered()
            try step(ack.partition) { bookkeeping in
                bookkeeping.acknowledge(version: ack.version, revision: ack.revision, lost: ack.lost)
            }
            flush()
        case .rejected(let rejection):
            uploads.answered(rejection.partition, rejection.version)
            trial.answered()
            try step(rejection.partition) { bookkeeping in
                bookkeeping.reject(version: rejection.version, rejection.reason)
            }
            flush()
        case .download(let partition, let download): try take(download, of: partition, number: number)
        case .revoked(let partition, let reason):
            guard partitions[partition] != nil else { return }
            partitions[partition]?.revoked = reason
            partitions[partition]?.progress = nil
            try step(partition) { bookkeeping in
                bookkeeping.revoke(OperationRejection(code: .notPermitted, reason: reason))
            }
            events.send(.revoked(partition, reason: reason))
            subscribeNextWaiting()
        case .forked(let partition, let version):
            uploads.answered(partition, version)
            partitions[partition]?.bookkeeping.foreign(version: version)
            flush()
        case .presence(let report): presences.send(UserPresence(report))
        case .error(let report):
            events.send(.error(code: report.code.rawValue, message: report.message))
            take(report, number: number)
        }
        try forkIfDue(number: number)
    }

    private func take(_ report: GatewayFrame.ErrorReport, number: Int) {
        if report.action == .wait { return }
        guard let partition = report.partition, report.action != .reauthenticate else {
            reconnect(report.action, number: number)
            if report.action == .close { refuseAll(PartitaError(report)) }
            return
        }
        partitions[partition]?.isRequested = false
        if report.code == .versionGap {
            partitions[partition]?.bookkeeping.missedVersions()
        } else {
            partitions[partition]?.bookkeeping.disconnected()
        }
        uploads.forget(partition)
        // Another partition may have been closed since it was asked for.
        let isLate =
            report.code == .tooManySubscriptions
            && partitions.values.count(where: \.isRequested) < Int(limits.subscriptions)
        if report.action == .retry || isLate { return tryLater(partition, atLeast: report.retryAfter ?? .zero) }
        partitions[partition]?.refusal = PartitaError(report)
        publishState(of: partition)
    }

    private func take(_ subscribed: GatewayFrame.Subscribed) throws {
        let partition = subscribed.partition
        let retained = try store.retained(partition, after: subscribed.lastVersion)
        try step(partition) { bookkeeping in
            bookkeeping.subscribed(
                access: subscribed.access, lastVersion: subscribed.lastVersion, retained: retained)
        }
        try step(partition) { $0.refuseUndeliverable() }
        // What is different comes again as a whole.
        if subscribed.holds != nil { try store.setCompared(partition, at: Self.milliseconds) }
        partitions[partition]?.backoff.succeed()
        flush()
    }

    private func take(_ download: Download, of partition: Partition, number: Int) throws {
        // Ignores downloads that were in flight when the partition was closed or subscribed again.
        guard let open = partitions[partition], open.bookkeeping.isSubscribed else { return }
        if let catchUp = download.catchUp {
            partitions[partition]?.progress = catchUp.isFinal ? nil : catchUp.progress
        }
        let device = device
        do {
            try step(partition) { try $0.receive(download, device: device) }
        } catch DevicePartition.Fault.gap {
            partitions[partition]?.bookkeeping.disconnected()
            partitions[partition]?.isRequested = false
            uploads.forget(partition)
            send(.unsubscribe(partition: partition))
            subscribe(partition)
        }
    }

    /// One step of a partition's bookkeeping: decides, saves and reports the result without suspension.
    func step(
        _ partition: Partition, _ body: (inout DevicePartition) throws -> [DevicePartition.Effect]
    ) throws {
        guard let before = partitions[partition]?.bookkeeping else { return }
        var after = before
        let effects = try body(&after)
        let changes = try store.commit(partition, from: before, to: after, effects, now: Self.milliseconds)
        partitions[partition]?.bookkeeping = after
        announce(effects, of: partition)
        publishState(of: partition)
        refresh(partition, changes)
    }

    private func announce(_ effects: [DevicePartition.Effect], of partition: Partition) {
        for effect in effects {
            switch effect {
            case .report(let version, let lost): events.send(.lost(partition, version: version, lost))
            case .reject(let changeset, let reason):
                events.send(.rejected(partition, version: changeset.version, reason))
            default: break
            }
        }
    }

    // MARK: Partitions on the gateway

    func subscribe(_ partition: Partition) {
        guard connection.phase == .online, let open = partitions[partition], open.revoked == nil, !open.isRequested
        else { return }
        partitions[partition]?.isRequested = true
        partitions[partition]?.refusal = nil
        let bookkeeping = open.bookkeeping
        send(
            .subscribe(
                partition: partition, checkpoint: bookkeeping.checkpoint, resume: bookkeeping.resumeToken,
                holds: holdingsToCompare(partition, bookkeeping)))
    }

    /// How often the gateway is asked to compare what the device holds of a partition, in milliseconds.
    private static let comparisonInterval: Int64 = 24 * 60 * 60 * 1000

    /// What the device holds of a partition, when it is time to have it compared.
    private func holdingsToCompare(_ partition: Partition, _ bookkeeping: DevicePartition) -> Holdings? {
        guard bookkeeping.isSynced, !bookkeeping.isStaging else { return nil }
        do {
            let now = Self.milliseconds
            // A time in the future was noted when the device's clock was wrong.
            if let last = try store.lastComparison(of: partition), last <= now, now - last < Self.comparisonInterval {
                return nil
            }
            return try store.holdings(of: partition)
        } catch {
            events.send(.error(code: "store", message: "\(error)"))
            return nil
        }
    }

    /// - Parameter hint: the wait that the gateway asks for; at most an hour of it is respected.
    private func tryLater(_ partition: Partition, atLeast hint: Duration) {
        guard let backoff = partitions[partition]?.backoff.fail() else { return }
        let wait = max(backoff, min(hint, .seconds(3600)))
        run { client in
            do {
                try await Task.sleep(for: wait)
            } catch {
                return  // the session is stopping
            }
            await client.subscribe(partition)
        }
    }

    /// Uploads what the window allows, one changeset per frame, since the gateway groups commits by itself. A suspect is uploaded
    /// while no other changeset of any partition is in flight; while it waits for its trial, the other partitions go on.
    func flush() {
        guard connection.phase == .online, !partitions.values.contains(where: \.bookkeeping.hasSentSuspect) else {
            return
        }
        let isForking = isForking
        let suspected = partitions.filter { $0.value.bookkeeping.nextUpload(isForking: isForking)?.isSuspect == true }
            .keys
        let wait = trial.wait(now: now)
        if let partition = suspected.first, wait == .zero {
            if uploads.isEmpty, uploadNext(of: partition, isForking: isForking) { trial.uploaded(now: now) }
            return
        }
        if !suspected.isEmpty { flush(after: wait) }
        for partition in partitions.keys where !suspected.contains(partition) {
            while uploads.hasRoom(for: Int(limits.uploadWindow)), uploadNext(of: partition, isForking: isForking) {}
        }
    }

    private func flush(after wait: Duration) {
        guard !isTrialDue else { return }
        isTrialDue = true
        run { client in
            do {
                try await Task.sleep(for: wait)
            } catch {
                return  // the session is stopping
            }
            await client.endWait()
        }
    }

    private func endWait() {
        isTrialDue = false
        flush()
    }

    /// - Returns: Whether there was something to upload.
    private func uploadNext(of partition: Partition, isForking: Bool) -> Bool {
        guard let sent = partitions[partition]?.bookkeeping.sentCount,
            let changeset = partitions[partition]?.bookkeeping.takeUploads(window: sent + 1, isForking: isForking).first
        else { return false }
        let frame = DeviceFrame.upload(
            .init(partition: partition, sentAt: Self.milliseconds, changesets: [changeset])
        ).encoded()
        if frame.count <= limits.frameBytes {
            uploads.sent(partition, changeset.version, byteCount: frame.count)
            send(text: frame)
        } else {
            refuse(changeset, of: partition)
        }
        return true
    }

    /// Rejects a changeset that doesn't fit in a frame, since it could never be uploaded.
    private func refuse(_ changeset: Changeset, of partition: Partition) {
        let reason = OperationRejection(code: .documentTooLarge, reason: "the changeset is larger than a frame may be")
        do {
            try step(partition) { $0.refuse(version: changeset.version, reason) }
        } catch {
            events.send(.error(code: "store", message: "\(error)"))
        }
    }

    // MARK: A new id

    /// Whether the device was restored from a backup or cloned, and is waiting until it may take a new id.
    private var isForking: Bool { partitions.values.contains(where: \.bookkeeping.isForked) }

    /// Takes a new id if that is needed, once every open partition knows what the server has under the current one.
    private func forkIfDue(number: Int) throws {
        guard isForking else { return }
        let isDue = partitions.values.allSatisfy { open in
            open.bookkeeping.isSubscribed ? open.bookkeeping.isReadyToFork : !open.isRequested || open.revoked != nil
        }
        if isDue { try fork(number: number) }
    }

    /// The device takes a new id, in one transaction with all of its versions.
    private func fork(number: Int) throws {
        let store = store
        let fresh = UUID().uuidString.lowercased()
        let open = partitions.mapValues(\.bookkeeping)
        let forked = try store.transaction { _ in
            var forked: [Partition: DevicePartition] = [:]
            try store.set("device", fresh)
            for partition in try store.partitions() {
                let before = try open[partition] ?? store.partition(partition)
                var after = before
                let effects = after.fork()
                _ = try store.commit(partition, from: before, to: after, effects, now: Self.milliseconds)
                forked[partition] = after
            }
            return forked
        }
        device = fresh
        for (partition, bookkeeping) in forked where partitions[partition] != nil {
            partitions[partition]?.bookkeeping = bookkeeping
            refresh(partition, .all)
        }
        reconnect(.retry, number: number)
    }
}

extension PartitaError {
    fileprivate init(_ report: GatewayFrame.ErrorReport) {
        self.init(code: .refused, message: report.message, serverCode: report.code.rawValue)
    }
}
