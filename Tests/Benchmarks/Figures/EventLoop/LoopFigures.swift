import BenchmarkRunner
import CBenchmarkReferences
import EventLoop
import Glibc

/// Hops between two actors on loops of their own, one waiting for the other, against two libuv loops that wake each other.
let loopHops = Benchmark(Figure("event-loop.hops", .perSecond, goal: .ratio(atLeast: 0.5))) { bench in
    let loops = LoopGroup(2, name: "hops")
    let (one, other) = (Hopper(loop: loops.loops[0]), Hopper(loop: loops.loops[1]))
    let count = 200_000
    let measurements = try await bench.compare {
        // A call goes there and comes back.
        var calls = 0
        let rate = await Stopwatch.rate(count) { calls = await one.call(other, times: count / 2) }
        guard calls % (count / 2) == 0 else { throw BenchmarkError("\(calls) calls") }
        return rate
    } reference: {
        let seconds = try await Blocking.run { reference_loop_hops(Int32(count)) }
        return Double(count) / seconds
    }
    await loops.shutDown()
    return measurements
}

/// Bytes that 32 pairs of sockets on one loop throw to and fro, against libuv's poll handles.
let loopEvents = Benchmark(Figure("event-loop.events", .perSecond, goal: .ratio(atLeast: 0.6))) { bench in
    let loops = LoopGroup(1, name: "events")
    let (pairs, count) = (32, 300_000)
    let measurements = try await bench.compare {
        let table = EchoTable(loop: loops.loops[0])
        try await table.open(pairs: pairs)
        let rate = await Stopwatch.rate(count) { await table.catch(count) }
        await table.close()
        return rate
    } reference: {
        let seconds = try await Blocking.run { reference_loop_events(Int32(pairs), Int32(count)) }
        guard seconds > 0 else { throw BenchmarkError("libuv can't poll") }
        return Double(count) / seconds
    }
    await loops.shutDown()
    return measurements
}

private actor Hopper: LoopActor {
    nonisolated let loop: EventLoop
    private var calls = 0

    init(loop: EventLoop) { self.loop = loop }

    func call(_ other: Hopper, times: Int) async -> Int {
        // Work of its own in between: without any the compiler leaves the way back out.
        for _ in 0..<times { calls = max(calls, await other.take()) }
        return calls
    }

    private func take() -> Int {
        calls += 1
        return calls
    }
}

/// Pairs of sockets, each end of which sends back what it gets.
private actor EchoTable: LoopActor {
    nonisolated let loop: EventLoop
    private var ends: [(watcher: FDWatcher, descriptor: Int32)] = []
    private var left = 0
    private var caught: CheckedContinuation<Void, Never>?

    init(loop: EventLoop) { self.loop = loop }

    func open(pairs: Int) throws {
        for _ in 0..<pairs {
            var sockets: (Int32, Int32) = (0, 0)
            let status = withUnsafeMutableBytes(of: &sockets) {
                socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, $0.assumingMemoryBound(to: Int32.self).baseAddress)
            }
            guard status == 0 else { throw BenchmarkError("no socket pair: errno \(errno)") }
            for descriptor in [sockets.0, sockets.1] {
                let watcher = try FDWatcher(loop, fd: descriptor) { [unowned self] _ in
                    assumeIsolated { $0.answer(descriptor) }
                }
                watcher.set(.read)
                ends.append((watcher, descriptor))
            }
        }
    }

    func `catch`(_ count: Int) async {
        left = count
        var byte: UInt8 = 0
        for index in stride(from: 0, to: ends.count, by: 2) { write(ends[index].descriptor, &byte, 1) }
        await withCheckedContinuation { caught = $0 }
    }

    private func answer(_ descriptor: Int32) {
        var byte: UInt8 = 0
        guard read(descriptor, &byte, 1) == 1 else { return }
        left -= 1
        if left > 0 {
            write(descriptor, &byte, 1)
        } else {
            caught?.resume()
            caught = nil
        }
    }

    func close() {
        for end in ends {
            end.watcher.close()
            Glibc.close(end.descriptor)
        }
        ends = []
    }
}
