import EventLoop
import Foundation
import Logging
import Testing

@Suite struct StreamLogHandlerTests {
    @Test func `a JSON line holds everything and is one line`() throws {
        let event = LogEvent(
            time: LogTime(microseconds: 1_709_210_096_000_789), level: .warning, label: "a.b",
            message: "line\nbreak \"x\"",
            metadata: [
                "n": .stringConvertible(3), "ok": .stringConvertible(true), "x": .stringConvertible(0.5),
                "nan": .stringConvertible(Double.nan), "list": ["a", "\u{1}\u{7f}é😀"], "nested": ["k": "v"],
            ], file: "M/F.swift", function: "f()", line: 7)
        let line = text(event, .json)
        #expect(line.filter { $0 == "\n" }.count == 1)
        #expect(line.hasPrefix(#"{"time":"2024-02-29T12:34:56.000789Z","level":"warning","label":"a.b","message":"#))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(object["message"] as? String == "line\nbreak \"x\"")
        #expect(object["source"] as? String == "M/F.swift:7")
        let metadata = try #require(object["metadata"] as? [String: Any])
        #expect(metadata["n"] as? Int == 3)
        #expect(metadata["ok"] as? Bool == true)
        #expect(metadata["x"] as? Double == 0.5)
        #expect(metadata["nan"] as? String == "nan")
        #expect(metadata["list"] as? [String] == ["a", "\u{1}\u{7f}é😀"])
        #expect(metadata["nested"] as? [String: String] == ["k": "v"])
    }

    @Test func `a text line shows level, label, message and metadata in order`() {
        let event = LogEvent(
            time: LogTime(microseconds: 0), level: .info, label: "l", message: "started",
            metadata: ["b": "two words", "a": "1\n2"], file: "F", function: "f", line: 1)
        #expect(text(event, .text) == "1970-01-01T00:00:00.000000Z INFO     l: started a=1\\n2 b=\"two words\"\n")
    }

    @Test(arguments: [
        (-1, "1969-12-31T23:59:59.999999Z"), (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
        (4_107_542_399_000_001, "2100-02-28T23:59:59.000001Z"), (1_798_761_599_000_000, "2026-12-31T23:59:59.000000Z"),
    ])
    func `a time is written in UTC to the microsecond`(microseconds: Int64, text: String) {
        var bytes: [UInt8] = []
        LogTime(microseconds: microseconds).append(to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }

    @Test func `lines arrive whole and in order from many threads`() async throws {
        let pipe = Pipe()
        let handler = StreamLogHandler(format: .json, descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let logger = Logger(label: "test", handler: handler, logLevel: .info)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for line in 0..<50 {
                        logger.info(
                            "m", metadata: ["task": .stringConvertible(task), "line": .stringConvertible(line)])
                    }
                }
            }
        }
        #expect(handler.flush(within: .seconds(5)))
        try pipe.fileHandleForWriting.close()
        let lines = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            .split(separator: "\n")
        #expect(lines.count == 200)
        var next = [0, 0, 0, 0]
        for line in lines {
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let metadata = try #require(object["metadata"] as? [String: Int])
            let task = try #require(metadata["task"])
            #expect(metadata["line"] == next[task])
            next[task] += 1
        }
    }

    @Test func `a full buffer drops lines, counts them, and says so once there is room`() throws {
        let pipe = Pipe()
        let writing = pipe.fileHandleForWriting.fileDescriptor
        try fill(writing)
        let handler = StreamLogHandler(format: .json, descriptor: writing, capacity: 8 << 10)
        let logger = Logger(label: "test", handler: handler, logLevel: .info)
        for _ in 0..<200 { logger.info("a line of about a hundred bytes with its time, its label and its source") }
        let dropped = handler.droppedLines
        #expect(dropped > 0 && dropped < 200)
        #expect(!handler.flush(within: .milliseconds(1)))

        let received = Locked(Data())
        let atEnd = DispatchSemaphore(value: 0)
        Thread {
            received.withLock { $0 = pipe.fileHandleForReading.readDataToEndOfFile() }
            atEnd.signal()
        }.start()
        #expect(handler.flush(within: .seconds(5)))
        logger.info("room again")
        #expect(handler.flush(within: .seconds(5)))
        try pipe.fileHandleForWriting.close()
        #expect(atEnd.wait(timeout: .now() + 5) == .success)
        let text = String(decoding: received.withLock { $0 }, as: UTF8.self)
        // The writer may have taken a first part out of the buffer, and made room, in between.
        let counts = text.matches(of: #/"message":"log lines were dropped","metadata":{"dropped":(\d+)}/#).map(\.1)
        #expect(counts.compactMap { Int($0) }.reduce(0, +) == dropped)
        #expect(text.contains("room again"))
        #expect(handler.droppedLines == dropped)
    }

    @Test func `lines that a closed descriptor refuses are counted`() {
        let handler = StreamLogHandler(format: .text, descriptor: -1)
        let logger = Logger(label: "test", handler: handler, logLevel: .info)
        for _ in 0..<3 { logger.info("lost") }
        #expect(handler.flush(within: .seconds(5)))
        #expect(handler.droppedLines == 3)
    }

    /// Writes until nothing more fits.
    private func fill(_ descriptor: Int32) throws {
        let flags = fcntl(descriptor, F_GETFL)
        try #require(fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0)
        while write(descriptor, "\n", 1) == 1 {}
        try #require(fcntl(descriptor, F_SETFL, flags) == 0)
    }

    private func text(_ event: LogEvent, _ format: LogFormat) -> String {
        var bytes: [UInt8] = []
        format.append(event, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
