import ChildProcesses
import EventLoop
import Foundation
import Testing

@testable import MediaOffload

struct ThumbnailerTests {
    @Test func `a picture gets a small JPEG`() async throws {
        let picture = try await Self.picture(width: 1600, height: 900)
        let thumbnail = try #require(try await Thumbnailer().thumbnail(of: picture, size: 180, for: "app"))
        #expect(thumbnail.starts(with: [0xff, 0xd8, 0xff]))
        #expect(thumbnail.count < 20_000)
    }

    @Test func `bytes that are no picture give none`() async throws {
        let picture = Array("GIF89a but not really".utf8)
        #expect(try await Thumbnailer().thumbnail(of: picture, size: 180, for: "app") == nil)
    }

    @Test(arguments: [
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"/>", "P6 1 1 255\nabc", "%PDF-1.4",
    ])
    func `what isn't one of the pictures that cameras and browsers make gives none`(text: String) async throws {
        // It isn't even given to the program, which is missing.
        let thumbnailer = Thumbnailer(program: "/nowhere/vipsthumbnail")
        #expect(try await thumbnailer.thumbnail(of: Array(text.utf8), size: 180, for: "app") == nil)
        #expect(try await Thumbnailer().thumbnail(of: Array(text.utf8), size: 180, for: "app") == nil)
    }

    /// Makes a thumbnail with a program that first runs a command.
    /// - Returns: what the command has written.
    private func output(ofShell command: String) async throws -> String {
        let program = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        let output = program + ".output"
        defer { for file in [program, output] { try? FileManager.default.removeItem(atPath: file) } }
        let script = "#!/bin/sh\n{ \(command); } >\(output)\nexec vipsthumbnail \"$@\"\n"
        #expect(
            FileManager.default.createFile(
                atPath: program, contents: Data(script.utf8), attributes: [.posixPermissions: 0o755]))
        let picture = try await Self.picture(width: 160, height: 90)
        #expect(try await Thumbnailer(program: program).thumbnail(of: picture, size: 20, for: "app") != nil)
        return try String(contentsOfFile: output, encoding: .utf8)
    }

    @Test func `neither the picture nor its thumbnail has a name, under which it would stay when all is killed`()
        async throws
    {
        let lines = try await output(ofShell: "echo \"$@\"; readlink /proc/$$/fd/3").split(separator: "\n")
        #expect(lines.first == "/proc/self/fd/3 --size 20x20 -o .jpg[Q=75,strip]")
        #expect(lines.count == 2 && lines.last?.hasPrefix("/memfd:") == true)
    }

    @Test func `the program has a plain environment, without the loaders that libvips doesn't trust`() async throws {
        let variables = try await output(ofShell: "cat /proc/$$/environ").split(separator: "\0")
        #expect(variables.contains("VIPS_BLOCK_UNTRUSTED=1"))
        for variable in variables {
            let isPlain = ["PATH=", "LD_LIBRARY_PATH=", "TZ=", "LANG=", "LC_", "VIPS_"].contains {
                variable.hasPrefix($0)
            }
            #expect(isPlain, "\(variable)")
        }
    }

    @Test func `a program that can't be started says nothing of the picture`() async throws {
        let picture = try await Self.picture(width: 160, height: 90)
        let thumbnailer = Thumbnailer(program: "/nowhere/vipsthumbnail")
        let error = await #expect(throws: MediaOffloadError.self) {
            try await thumbnailer.thumbnail(of: picture, size: 20, for: "app")
        }
        #expect(error?.code == .local && error?.message.contains("/nowhere/vipsthumbnail") == true)
        #expect(thumbnailer.turns.taken == 0)
    }

    @Test(.timeLimit(.minutes(1)))
    func `two pictures are made at a time, those of an app one after the other`() async throws {
        let picture = try await Self.picture(width: 160, height: 90)
        let thumbnailer = Thumbnailer()
        let turns = thumbnailer.turns
        #expect(turns.enterAtOnce("busy"))
        #expect(!turns.enterAtOnce("busy"))
        #expect(turns.enterAtOnce("other"))
        let third = Task { try await thumbnailer.thumbnail(of: picture, size: 20, for: "third") }
        while turns.waiting(of: "third") == 0 { try await Task.sleep(for: .milliseconds(1)) }
        turns.leave("busy")
        #expect(try await third.value != nil)
        #expect(turns.taken == 1)
        turns.leave("other")
    }

    /// A PNG that libvips itself made.
    static func picture(width: Int, height: Int) async throws -> [UInt8] {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).png").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var ppm = Array("P6 \(width) \(height) 255\n".utf8)
        for index in 0..<width * height {
            ppm += [UInt8(truncatingIfNeeded: index), UInt8(truncatingIfNeeded: index >> 8), 90]
        }
        let source = path + ".ppm"
        defer { try? FileManager.default.removeItem(atPath: source) }
        #expect(FileManager.default.createFile(atPath: source, contents: Data(ppm)))
        let run = try await CapturedRun.run("vipsthumbnail", [source, "--size", "\(width)x\(height)", "-o", path])
        #expect(run.status.isSuccess, "\(run.output)")
        return Array(try #require(FileManager.default.contents(atPath: path)))
    }
}
