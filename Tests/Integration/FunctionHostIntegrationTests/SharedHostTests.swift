import ChildProcesses
import DocumentModel
import FunctionProtocol
import Testing

/// Many calls in flight in one host.
struct SharedHostTests {
    private static let items = "context.services.get('mongodb-atlas').db('D').collection('Item')"
    private static let waiting = "exports = async n => { const got = await \(items).findOne({ n }); return [n, got.n] }"

    private func value(_ number: Int) -> Value { .int32(Int32(number)) }

    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func `however calls interleave, effects, lines and results are each call's own`(_ seed: UInt64) throws {
        var random = Seeded(state: seed)
        let host = try TestHost([
            "work": """
            exports = async n => {
              const items = \(Self.items), mine = [];
              globalThis.mark = n;
              for (let i = 0; i < 4; i++) {
                console.log(`${n} ${i}`);
                const [a, b] = await Promise.all([items.findOne({ n, i }), items.findOne({ n, i, second: true })]);
                mine.push(a.n, b.n);
                if (n % 3 === 0) await new Promise(done => setTimeout(done, n % 7));
                if (globalThis.mark !== n) throw new Error(`the global object is shared: ${globalThis.mark}`);
              }
              return mine;
            }
            """
        ])
        var numbers: [Int64: Int] = [:]
        var open: [(call: Int64, effect: FunctionEffect)] = []
        var lines: [Int: [String]] = [:]
        var results: [Int: Value] = [:]
        var begun = 0
        while results.count < 100 {
            // Calls begin, and effects are answered, in any order.
            if begun < 100, open.isEmpty || random.below(3) == 0 {
                numbers[try host.begin("work", [value(begun)], turn: "user \(begun % 5)")] = begun
                begun += 1
            } else if !open.isEmpty, begun == 100 || random.below(2) == 0 {
                let (call, effect) = open.remove(at: random.below(open.count))
                let number = try #require(numbers[call])
                #expect(effect.arguments["filter"]?.documentValue?["n"]?.intValue == number)
                try host.send(
                    .answer(call: call, ordinal: effect.ordinal, .success(.document(["n": value(number)]))))
            }
            while let reply = try host.poll(milliseconds: open.isEmpty && begun == 100 ? 1000 : 0) {
                switch reply {
                case .effect(let call, let effect): open.append((call, effect))
                case .log(let call, let line): lines[try #require(numbers[call]), default: []].append(line.message)
                case .done(let call, let result, _, _): results[try #require(numbers[call])] = try result.get()
                case .ready, .checked, .answered, .ended, .clockRead: Issue.record("unexpected")
                }
                if !open.isEmpty { break }
            }
        }
        for number in 0..<100 {
            #expect(lines[number] == (0..<4).map { "\(number) \($0)" })
            #expect(results[number]?.arrayValue?.map(\.intValue) == Array(repeating: number, count: 8))
        }
    }

    @Test func `a call that computes beyond its limit is ended, and those that wait beside it go on`() async throws {
        let host = try TestHost(["wait": Self.waiting, "spin": "exports = () => { for (;;) {} }"])
        var effects: [(Int64, FunctionEffect)] = []
        for number in 0..<20 { _ = try host.begin("wait", [value(number)]) }
        while effects.count < 20 {
            if case .effect(let call, let effect) = try host.next() { effects.append((call, effect)) }
        }
        let spin = try host.begin("spin", cpuLimit: 0.2)
        for (call, effect) in effects {
            let number = try #require(effect.arguments["filter"]?.documentValue?["n"])
            try host.send(.answer(call: call, ordinal: effect.ordinal, .success(.document(["n": number]))))
        }
        var done = 0, ended: FunctionFailure.Code?
        while done < 20 || ended == nil {
            guard case .done(let call, let result, let time, _) = try host.next() else { continue }
            if call == spin {
                #expect(time > 0.15 && time < 1)
                if case .failure(let failure) = result { ended = failure.code }
            } else {
                let pair = try result.get().arrayValue ?? []
                #expect(pair.count == 2 && pair[0].intValue == pair[1].intValue)
                #expect(time < 0.15, "the other's time isn't charged to it")
                done += 1
            }
        }
        #expect(ended == .executionTimeLimitExceeded)
        let child = host.child
        #expect(await child.wait() == .exited(0), "a host of which a limit ended a call ends after the others")
        withExtendedLifetime(host) {}
    }

    @Test func `calls of different users take turns`() throws {
        let host = try TestHost([
            "busy": "exports = () => { const end = Date.now() + 10; while (Date.now() < end) {} return 'busy' }",
            "quick": "exports = () => 'quick'",
        ])
        for _ in 0..<50 { _ = try host.begin("busy", turn: "mallory") }
        _ = try host.begin("quick", turn: "mia")
        var order: [String] = []
        while order.count < 51 {
            if case .done(_, let result, _, _) = try host.next() { order.append(try result.get().stringValue ?? "") }
        }
        let place = try #require(order.firstIndex(of: "quick"))
        #expect(place < 25, "\(place)")
    }

    @Test func `a call that its parent ends does nothing more, and others go on`() throws {
        let host = try TestHost([
            "ask": "exports = async () => { for (;;) await \(Self.items).findOne({}) }",
            "tick":
                "exports = async () => { for (;;) { await new Promise(d => setTimeout(d, 1)); console.log('tick') } }",
            "add": "exports = (a, b) => a + b",
        ])
        let asking = try host.begin("ask")
        guard case .effect(asking, let effect) = try host.next() else {
            throw FunctionProtocolError(message: "no effect")
        }
        let ticking = try host.begin("tick")
        guard case .log(ticking, _) = try host.next() else { throw FunctionProtocolError(message: "no line") }
        try host.send(.end(call: asking))
        try host.send(.end(call: ticking))
        try host.send(.answer(call: asking, ordinal: effect.ordinal, .success(.null)))
        let adding = try host.begin("add", [.int32(1), .int32(2)])
        while true {
            let reply = try host.next()
            if case .log(ticking, _) = reply { continue }  // from before its end
            guard case .done(adding, let result, _, _) = reply else { throw FunctionProtocolError(message: "\(reply)") }
            #expect(try result.get().intValue == 3)
            break
        }
        #expect(try host.poll(milliseconds: 50) == nil)
    }

    @Test(arguments: [
        "exports = () => { const a = []; for (;;) a.push({ a: [1] }) }",
        "exports = async () => { const a = []; for (;;) { await null; await new Promise(d => setTimeout(d, 0)); a.push(new Float64Array(5e5).fill(a.length)) } }",
    ])
    func `of calls that share a host the one that takes the memory is ended`(_ source: String) throws {
        let host = try TestHost(["hog": source, "wait": Self.waiting], memoryLimit: 300 << 20)
        var effects: [(Int64, FunctionEffect)] = []
        for number in 0..<20 { _ = try host.begin("wait", [value(number)]) }
        while effects.count < 20 {
            if case .effect(let call, let effect) = try host.next() { effects.append((call, effect)) }
        }
        let hog = try host.begin("hog", cpuLimit: 20)
        guard case .done(hog, .failure(let failure), _, _) = try host.next() else {
            throw FunctionProtocolError(message: "the hog isn't ended")
        }
        #expect(failure.code == .memoryLimitExceeded)
        for (call, effect) in effects {
            let number = try #require(effect.arguments["filter"]?.documentValue?["n"])
            try host.send(.answer(call: call, ordinal: effect.ordinal, .success(.document(["n": number]))))
            guard case .done(call, let result, _, _) = try host.next() else {
                throw FunctionProtocolError(message: "another call was ended")
            }
            #expect(try result.get().arrayValue?.first?.isIdentical(to: number) == true)
        }
    }

    @Test func `a run that needs a key for random bytes gets its own, while others wait`() throws {
        let host = try TestHost([
            "wait": Self.waiting, "random": "exports = () => require('crypto').randomBytes(8).toString('hex')",
        ])
        let waiting = try host.begin("wait", [.int32(1)])
        guard case .effect(waiting, let effect) = try host.next() else {
            throw FunctionProtocolError(message: "no effect")
        }
        var made: [String] = []
        for key in [1, 2, 1] as [UInt8] {
            let call = try host.begin("random", seed: 7)
            var reply = try host.next()
            while case .done(waiting, _, _, _) = reply { reply = try host.next() }
            guard case .effect(call, let asked) = reply else { throw FunctionProtocolError(message: "no key") }
            #expect(asked.service == FunctionEffect.random)
            // Answers to others that come meanwhile are kept.
            if made.count == 1 {
                try host.send(.answer(call: waiting, ordinal: effect.ordinal, .success(["n": .int32(1)])))
            }
            try host.send(
                .answer(
                    call: call, ordinal: asked.ordinal,
                    .success(.binary(Binary([UInt8](repeating: key, count: 32), subtype: 0)))))
            while true {
                guard case .done(let done, let result, _, _) = try host.next() else { continue }
                if done == call { made.append(try result.get().stringValue ?? "") }
                if done == call { break }
            }
        }
        #expect(made[0] == made[2] && made[0] != made[1])
    }

    @Test func `a call can't stop the thread without using it`() throws {
        let host = try TestHost([
            "block": "exports = () => Atomics.wait(new Int32Array(1), 0, 0, 5000)",
            "shared": "exports = () => typeof SharedArrayBuffer + ' ' + typeof WebAssembly",
        ])
        let failure = #expect(throws: FunctionFailure.self) { try host.call("block").get() }
        #expect(failure?.message.hasPrefix("TypeError") == true)
        #expect(try host.call("shared").get() == .string("undefined undefined"))
    }

    @Test func `its parent sees which call has the thread, and which have begun`() throws {
        let host = try TestHost(["spin": "exports = () => { console.log('begun'); for (;;) {} }", "wait": Self.waiting])
        let activity = HostActivity(host.page.memory)
        let spin = try host.begin("spin", cpuLimit: 5)
        guard case .log = try host.next() else { throw FunctionProtocolError(message: "no line") }
        let wait = try host.begin("wait")
        #expect(activity.step?.call == spin)
        #expect(activity.hasBegun(call: spin))
        #expect(!activity.hasBegun(call: wait))
    }
}

/// Numbers that are the same for the same seed.
private struct Seeded {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(bound))
    }
}
