exports = async milliseconds => { await new Promise(done => setTimeout(done, milliseconds)); };
