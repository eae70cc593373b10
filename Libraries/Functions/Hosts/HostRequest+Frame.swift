import FunctionProtocol

extension HostRequest {
    /// The request's frame. An answer that is larger than a host takes becomes an error of the effect, and not the end of the host.
    var frame: [UInt8] {
        let frame = FrameBuffer.encode(document)
        guard case .answer(let call, let ordinal, .success) = self, frame.count - 4 > FrameBuffer.maximumBytes else {
            return frame
        }
        let failure = EffectFailure(
            name: "ResultTooLarge",
            message:
                "the result has \(frame.count >> 20) MiB, a function takes at most \(FrameBuffer.maximumBytes >> 20) MiB at a time: project fields, or read in parts (sort by _id, limit, and go on after the last _id)"
        )
        return FrameBuffer.encode(HostRequest.answer(call: call, ordinal: ordinal, .failure(failure)).document)
    }
}
