import DocumentModel
import QueryLanguage
import RealmSync
import SyncProtocol

/// Code that reads bytes from outside. Every input must end in a result or an error; fuzzing finds anything else.
public enum FuzzTarget: String, CaseIterable, Sendable {
    case json, bson, filter, update, pipeline, frame, realmChangeset

    /// Gives the bytes to the target. A refused input is no fault; a violated invariant ends the process.
    public func run(_ bytes: [UInt8]) async {
        switch self {
        case .json: json(bytes)
        case .bson: bson(bytes)
        case .filter: filter(bytes)
        case .update: update(bytes)
        case .pipeline: await pipeline(bytes)
        case .frame: frame(bytes)
        case .realmChangeset: realmChangeset(bytes)
        }
    }

    /// What a fault looks like to libFuzzer and to the tests.
    private func require(_ condition: Bool, _ message: String) {
        if !condition { preconditionFailure(message) }
    }

    private func json(_ bytes: [UInt8]) {
        do throws(ExtendedJSONError) {
            let value = try ExtendedJSON.parse(bytes)
            for mode in [ExtendedJSON.Mode.canonical, .relaxed] {
                let text = ExtendedJSON.print(value, mode: mode)
                guard let again = try? ExtendedJSON.parse(text) else {
                    preconditionFailure("what was printed can't be parsed")
                }
                require(again == value, "what was printed is another value")
            }
        } catch {
            require((0...bytes.count).contains(error.offset), "an offset outside of the text")
        }
    }

    private func bson(_ bytes: [UInt8]) {
        do throws(BSONError) {
            let document = try BSON.decode(bytes)
            guard let encoded = try? BSON.encode(document), let again = try? BSON.decode(encoded) else {
                preconditionFailure("what was decoded can't be encoded")
            }
            require(again.isIdentical(to: document), "what was encoded is another document")
            _ = ExtendedJSON.print(document)
        } catch {
            require((0...bytes.count).contains(error.offset), "an offset outside of the bytes")
        }
    }

    /// A document with every type, arrays and documents at short paths.
    private static let sample: Document = [
        "_id": 1, "a": 5, "b": "text", "c": [1, 2.5, "x", .null, ["d": 1]], "d": ["e": ["f": 1]], "g": .int64(.max),
        "h": .double(.nan), "i": .date(1_600_000_000_000), "j": true, "k": .null,
        "l": .objectId(ObjectId(high: 1, low: 2)), "m": .binary(Binary([1, 2, 3], subtype: 0)),
        "n": .decimal128(Decimal128(5)), "o": .regex(RegularExpression("a", options: "i")), "p": [5, 5],
        "q": .timestamp(Timestamp(seconds: 1, increment: 2)), "r": .minKey, "s": .maxKey,
    ]

    // The result of a refused operation isn't needed, so its error is ignored below.

    private func filter(_ bytes: [UInt8]) {
        guard let document = try? ExtendedJSON.parseDocument(bytes), let filter = try? Filter(document) else { return }
        _ = try? filter.evaluate(Self.sample, now: 0)
        _ = filter.equalities
        _ = filter.distance(of: Self.sample)
    }

    private func update(_ bytes: [UInt8]) {
        guard let value = try? ExtendedJSON.parse(bytes), let update = try? Update(value) else { return }
        var document = Self.sample
        do throws(QueryError) {
            _ = try update.apply(to: &document, now: 0)
        } catch {
            require(document.isIdentical(to: Self.sample), "a refused update has changed the document")
        }
        guard let text = try? ExtendedJSON.parseDocument(ExtendedJSON.print(document)) else {
            preconditionFailure("an update made a document that can't be read")
        }
        require(text == document, "an update made another document than what is read")
    }

    private func pipeline(_ bytes: [UInt8]) async {
        guard let value = try? ExtendedJSON.parse(bytes) else { return }
        if let expression = try? Expression(value) {
            _ = try? expression.evaluate(EvaluationContext(root: Self.sample))
        }
        guard let pipeline = try? Pipeline(value) else { return }
        _ = try? await pipeline.run([Self.sample, ["_id": 2, "a": 7]], context: PipelineContext(memoryLimit: 1 << 20))
    }

    private func frame(_ bytes: [UInt8]) {
        if let frame = try? DeviceFrame(bytes) { _ = "\(frame)" }
        if let frame = try? GatewayFrame(bytes) { _ = "\(frame)" }
    }

    private func realmChangeset(_ bytes: [UInt8]) {
        do throws(ChangesetError) {
            let encoded = try Changeset(bytes).encoded()
            guard let again = try? Changeset(encoded) else {
                preconditionFailure("what was decoded can't be encoded")
            }
            require(again.encoded() == encoded, "what was encoded is another changeset")
        } catch {
            require((0...bytes.count).contains(error.offset), "an offset outside of the bytes")
        }
    }
}
