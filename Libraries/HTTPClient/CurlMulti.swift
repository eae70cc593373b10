import Ccurl
import EventLoop

/// A transfer on a `CurlMulti`.
protocol CurlTransfer: AnyObject {
    var easy: CurlEasy { get }

    /// Called once, on the loop, when libcurl has finished, or without a result when the multi handle was closed. Not called after
    /// `CurlMulti.remove`.
    func ended(_ result: CURLcode?)
}

/// Runs libcurl's transfers on a loop, which watches their sockets and provides the timer. Loop only.
///
/// It keeps connections for reuse. Must be closed.
final class CurlMulti {
    private let loop: EventLoop
    private let multi: UnsafeMutableRawPointer
    private var watchers: [Int32: FDWatcher] = [:]
    private var timer: LoopTimer?
    private var transfers: [UnsafeMutableRawPointer: any CurlTransfer] = [:]

    /// - Throws: `HTTPClientError` when libcurl can't allocate memory.
    init(_ loop: EventLoop) throws(HTTPClientError) {
        loop.assertInLoop()
        _ = try CurlEasy()  // initializes libcurl
        guard let multi = curl_multi_init() else { throw HTTPClientError(.failed, "out of memory") }
        self.loop = loop
        self.multi = multi
        timer = LoopTimer(loop) { [unowned self] in act(CURL_SOCKET_BAD, 0) }
        // Not retained: the owner must call `close`, which ends the callbacks.
        let context = Unmanaged.passUnretained(self).toOpaque()
        ccurl_multi_socket(
            multi,
            { _, socket, what, context, _ in
                guard let context else { return -1 }
                return Unmanaged<CurlMulti>.fromOpaque(context).takeUnretainedValue().watch(socket, what)
            }, context)
        ccurl_multi_timer(
            multi,
            { _, milliseconds, context in
                guard let context else { return -1 }
                Unmanaged<CurlMulti>.fromOpaque(context).takeUnretainedValue().startTimer(milliseconds)
                return 0
            }, context)
    }

    deinit { assert(timer == nil, "CurlMulti dropped while open") }

    func set(_ option: CURLMoption, _ number: Int) { ccurl_multi_long(multi, option, number) }

    /// The number of transfers that have not ended.
    var count: Int { transfers.count }

    /// Starts a transfer, which is retained until it has ended or was removed.
    func add(_ transfer: any CurlTransfer) throws(HTTPClientError) {
        let handle = transfer.easy.handle
        let code = curl_multi_add_handle(multi, handle)
        guard code == CURLM_OK else {
            throw HTTPClientError(.failed, String(cString: curl_multi_strerror(code)))
        }
        transfers[handle] = transfer
    }

    /// Aborts a transfer. Must not be called from one of libcurl's callbacks.
    func remove(_ transfer: any CurlTransfer) {
        let handle = transfer.easy.handle
        guard transfers.removeValue(forKey: handle) != nil else { return }
        curl_multi_remove_handle(multi, handle)
    }

    /// Closes all connections. The transfers in flight end without a result.
    func close() {
        guard let timer else { return }
        self.timer = nil
        timer.close()
        let left = transfers
        transfers.removeAll()
        for (handle, transfer) in left {
            curl_multi_remove_handle(multi, handle)
            transfer.ended(nil)
        }
        curl_multi_cleanup(multi)  // removes the sockets of idle connections from the watchers
        for watcher in watchers.values { watcher.close() }
        watchers.removeAll()
    }

    private func act(_ socket: Int32, _ events: Int32) {
        var running: Int32 = 0
        curl_multi_socket_action(multi, socket, events, &running)
        var result = CURLE_OK
        while let handle = ccurl_multi_next_ended(multi, &result) {
            let transfer = transfers.removeValue(forKey: handle)
            curl_multi_remove_handle(multi, handle)
            transfer?.ended(result)
        }
    }

    private func watch(_ socket: Int32, _ what: Int32) -> Int32 {
        // libcurl reports this before it closes the socket.
        if what == CURL_POLL_REMOVE {
            watchers.removeValue(forKey: socket)?.close()
            return 0
        }
        do {
            let watcher = try watchers[socket] ?? makeWatcher(socket)
            var interest: FDWatcher.Interest = []
            if what & CURL_POLL_IN != 0 { interest.insert(.read) }
            if what & CURL_POLL_OUT != 0 { interest.insert(.write) }
            watcher.set(interest)
            return 0
        } catch {
            return -1  // libcurl ends the transfers
        }
    }

    private func makeWatcher(_ socket: Int32) throws -> FDWatcher {
        let watcher = try FDWatcher(loop, fd: socket) { [unowned self] ready in
            act(
                socket,
                (ready.contains(.read) ? CURL_CSELECT_IN : 0) | (ready.contains(.write) ? CURL_CSELECT_OUT : 0))
        }
        watchers[socket] = watcher
        return watcher
    }

    private func startTimer(_ milliseconds: Int) {
        guard let timer else { return }
        if milliseconds < 0 {
            timer.stop()
        } else {
            // libcurl doesn't set the timer again when it fires early, and the loop counts whole milliseconds.
            timer.start(ms: milliseconds == 0 ? 0 : UInt64(milliseconds) + 1)
        }
    }
}
