"""Reversing digits: GRU encoder, Bahdanau attention, teacher forcing, greedy decoding."""

import random

SOS, EOS = 10, 11


def main(torch):
    nn, F, optim = torch.nn, torch.nn.functional, torch.optim
    torch.manual_seed(9)
    random.seed(9)

    class EncoderRNN(nn.Module):
        def __init__(self, input_size, hidden_size, dropout_p=0.1):
            super(EncoderRNN, self).__init__()
            self.hidden_size = hidden_size
            self.embedding = nn.Embedding(input_size, hidden_size)
            self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
            self.dropout = nn.Dropout(dropout_p)

        def forward(self, input):
            return self.gru(self.dropout(self.embedding(input)))

    class BahdanauAttention(nn.Module):
        def __init__(self, hidden_size):
            super().__init__()
            self.Wa = nn.Linear(hidden_size, hidden_size)
            self.Ua = nn.Linear(hidden_size, hidden_size)
            self.Va = nn.Linear(hidden_size, 1)

        def forward(self, query, keys):
            scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
            scores = scores.squeeze(2).unsqueeze(1)
            weights = F.softmax(scores, dim=-1)
            return torch.bmm(weights, keys), weights

    class AttnDecoderRNN(nn.Module):
        def __init__(self, hidden_size, output_size, dropout_p=0.1):
            super(AttnDecoderRNN, self).__init__()
            self.embedding = nn.Embedding(output_size, hidden_size)
            self.attention = BahdanauAttention(hidden_size)
            self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
            self.out = nn.Linear(hidden_size, output_size)
            self.dropout = nn.Dropout(dropout_p)

        def forward(self, encoder_outputs, encoder_hidden, max_length, target=None):
            batch_size = encoder_outputs.size(0)
            decoder_input = torch.empty(batch_size, 1, dtype=torch.long).fill_(SOS)
            decoder_hidden = encoder_hidden
            outputs, attentions = [], []
            for i in range(max_length):
                output, decoder_hidden, weights = self.forward_step(
                    decoder_input, decoder_hidden, encoder_outputs
                )
                outputs.append(output)
                attentions.append(weights)
                if target is not None:
                    decoder_input = target[:, i].unsqueeze(1)
                else:
                    _, topi = output.topk(1)
                    decoder_input = topi.squeeze(-1).detach()
            outputs = F.log_softmax(torch.cat(outputs, dim=1), dim=-1)
            return outputs, decoder_hidden, torch.cat(attentions, dim=1)

        def forward_step(self, input, hidden, encoder_outputs):
            embedded = self.dropout(self.embedding(input))
            context, weights = self.attention(hidden.permute(1, 0, 2), encoder_outputs)
            output, hidden = self.gru(torch.cat((embedded, context), dim=2), hidden)
            return self.out(output), hidden, weights

    encoder, decoder = EncoderRNN(12, 16), AttnDecoderRNN(16, 12)
    enc_opt = optim.Adam(encoder.parameters(), lr=0.01)
    dec_opt = optim.Adam(decoder.parameters(), lr=0.01)
    criterion = nn.NLLLoss()
    losses, forced = [], []
    for step in range(25):
        src = torch.randint(0, 10, (8, 5))
        tgt = torch.cat([src.flip(1), torch.full((8, 1), EOS)], 1)
        enc_opt.zero_grad()
        dec_opt.zero_grad()
        encoder_outputs, encoder_hidden = encoder(src)
        teacher = random.random() < 0.7
        outputs, _, _ = decoder(encoder_outputs, encoder_hidden, 6, tgt if teacher else None)
        loss = criterion(outputs.view(-1, outputs.size(-1)), tgt.view(-1))
        loss.backward()
        enc_opt.step()
        dec_opt.step()
        losses.append(loss.item())
        forced.append(teacher)
    encoder.eval()
    decoder.eval()
    with torch.no_grad():
        outputs, hidden, attention = decoder(*encoder(torch.tensor([[1, 2, 3, 4, 5]])), 6)
        decoded = outputs.topk(1)[1].squeeze().tolist()
    return {
        "losses": losses,
        "forced": forced,
        "decoded": decoded,
        "attention": attention,
        "hidden": hidden,
    }
