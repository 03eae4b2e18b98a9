for (const button of document.querySelectorAll('button[data-copy]')) {
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy);
    if (source === null) return;
    await navigator.clipboard.writeText(source.textContent.trim());
    const label = button.textContent;
    button.textContent = button.dataset.copied;
    setTimeout(() => {
      button.textContent = label;
    }, 2_000);
  });
}
